// What the model was taught since training, kept by the service, and new labels.

import { $, attempt, button, count, element, emit, on, onSubmit, say } from "./dom.js";
import { ask, tell } from "./service.js";
import { suggest, verdicts, work } from "./suggestions.js";

const N_SHOWN = 10;
let nShown = N_SHOWN;

export async function showTaught() {
  const model = work.model.name;
  const found = await attempt($("taught"), () => ask("/v1/acts", { model, limit: nShown }));
  if (!found || model !== work.model.name) return;
  $("acts").replaceChildren(...found.acts.map((each) => act(each, model)));
  $("nothing-taught").hidden = found.total > 0;
  $("more-acts").hidden = found.total <= found.acts.length;
  $("more-acts").textContent = `Show all ${count(found.total, "change")}`;
}

function act({ id, act: what, time }, model) {
  const when = new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const undo = async () => {
    const done = await attempt(item, () => tell("/v1/undo", { model, id }));
    if (!done) return;
    $("taught-heading").focus();
    emit("undone", { id });
    await showTaught();
    say(`Took back: ${what}.`);
  };
  const item = element(
    "li",
    {},
    element("span", {}, what, element("small", {}, when)),
    button("Take back", { ariaLabel: `Take back: ${what}`, onclick: undo }),
  );
  return item;
}

async function addLabel() {
  const name = $("new-name").value.trim();
  const text = $("text").value.trim();
  const lines = $("new-examples").value.split("\n").map((line) => line.trim());
  const examples = [...($("use-text").checked && text ? [text] : []), ...lines.filter(Boolean)];
  const content = { model: work.model.name, name };
  if (examples.length) content.examples = examples;
  if ($("new-description").value.trim()) content.description = $("new-description").value.trim();
  const done = await attempt($("add-form"), () => tell("/v1/labels", content));
  if (!done) return;
  $("add-form").reset();
  await Promise.all([showTaught(), work.text && suggest({ decided: verdicts() })]);
  say(`Added ${name}.`);
}

onSubmit("add-form", addLabel);
on("decided", showTaught);
on("new-label", ({ name }) => {
  $("add").open = true;
  $("new-name").value = name;
  $("new-name").focus();
});
$("more-acts").addEventListener("click", () => {
  nShown = 1000;
  showTaught();
});
