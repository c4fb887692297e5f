// A search box for labels that were not suggested, with completion by all their names.

import { $, attempt, count, element, emit } from "./dom.js";
import { ask } from "./service.js";
import { assign, work } from "./suggestions.js";

const N_SHOWN = 8;
const PAUSE = 120; // milliseconds without a key before the service is asked
const input = $("assign-name");
const options = $("assign-options");
let found = []; // what the list offers
let active = -1;
let waiting = null;

function close() {
  options.hidden = true;
  input.ariaExpanded = "false";
  input.removeAttribute("aria-activedescendant");
  found = [];
  active = -1;
}

async function search() {
  const wanted = input.value.trim();
  if (!wanted) return close();
  const answer = await attempt($("assign"), () => ask("/v1/labels", { model: work.model.name, search: wanted, limit: N_SHOWN }));
  if (!answer || wanted !== input.value.trim()) return undefined;
  found = [...answer.labels];
  if (!found.some((each) => each.matched.toLowerCase() === wanted.toLowerCase())) found.push({ isNew: true, name: wanted });
  $("assign-status").textContent = answer.total ? `${count(answer.total, "label")} found` : "No label has this name.";
  options.replaceChildren(...found.map(option));
  options.hidden = false;
  input.ariaExpanded = "true";
  options.scrollIntoView({ block: "nearest" });
  return move(0);
}

function option(each, place) {
  const isOther = !each.isNew && each.matched !== each.name;
  const text = each.isNew ? `Add “${each.name}” as a new label…` : each.name;
  const remark = each.isNew ? "" : isOther ? `also: ${each.matched}` : count(each.count, "training text");
  const choice = { role: "option", id: `assign-${place}`, ariaSelected: "false" };
  const chosen = (event) => {
    event.preventDefault(); // the focus stays in the box
    choose(place);
  };
  return element("li", { ...choice, onpointerdown: chosen }, element("span", {}, text), element("span", { className: "muted" }, remark));
}

function move(place) {
  active = Math.max(0, Math.min(found.length - 1, place));
  [...options.children].forEach((each, number) => (each.ariaSelected = String(number === active)));
  input.setAttribute("aria-activedescendant", `assign-${active}`);
  options.children[active].scrollIntoView({ block: "nearest" });
}

async function choose(place) {
  const chosen = found[place];
  if (!chosen) return;
  close();
  input.value = "";
  $("assign-status").textContent = "";
  if (chosen.isNew) emit("new-label", { name: chosen.name });
  else await assign(chosen);
}

input.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, PAUSE);
});
input.addEventListener("keydown", (event) => {
  const keys = {
    ArrowDown: () => (options.hidden ? search() : move(active + 1)),
    ArrowUp: () => move(active - 1),
    Enter: () => choose(active),
    Escape: close,
  };
  if (!keys[event.key] || (options.hidden && event.key !== "ArrowDown")) return;
  event.preventDefault();
  keys[event.key]();
});
input.addEventListener("blur", close);
