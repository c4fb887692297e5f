// The web page: suggestions for a text, explanations, feedback and new labels.

import { ask, tell, useToken } from "./service.js";

const $ = (id) => document.getElementById(id);
const LEAST_LOSS = 0.005; // smallest loss of probability for a word to be listed as evidence
const LEAST_SHARE = 0.1; // smallest share of another label's texts for that label to be listed as evidence
const state = { model: null, text: "", excluded: new Map(), round: 0 };

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function percent(share) {
  if (share > 0 && share < 0.005) return "< 1 %";
  return `${Math.round(100 * share)} %`;
}

function bar(share, kind = "") {
  const meter = element("span", { className: `bar ${kind}`, "aria-hidden": "true" }, element("span"));
  meter.firstChild.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return meter;
}

// -- messages --------------------------------------------------------------------------------------------

function say(message) {
  $("status").textContent = message;
}

function showError(error) {
  if (error.status === 401) {
    $("token-form").hidden = false;
    $("token").focus();
  }
  $("error").textContent = error.message;
  $("error").hidden = false;
}

async function attempt(action) {
  $("error").hidden = true;
  try {
    return await action();
  } catch (error) {
    showError(error);
    return null;
  }
}

// -- models ----------------------------------------------------------------------------------------------

async function connect() {
  const found = await attempt(() => ask("/v1/models"));
  if (!found) {
    $("about-model").textContent = "Not connected.";
    return;
  }
  $("token-form").hidden = true;
  $("version").textContent = `tacit ${found.version}.`;
  $("model").replaceChildren(...found.models.map((model) => element("option", { value: model.name }, model.name)));
  $("choose-model").hidden = found.models.length < 2;
  const use = (name) => {
    const model = found.models.find((each) => each.name === name);
    state.model = model.name;
    $("about-model").textContent = `${model.name}: ${model.labels.toLocaleString("en")} labels`;
    state.excluded.clear();
    showExcluded();
  };
  $("model").onchange = () => {
    use($("model").value);
    if (state.text) suggest();
  };
  use(found.models[0].name);
}

// -- suggestions -----------------------------------------------------------------------------------------

async function suggest() {
  const text = $("text").value.trim();
  if (!text || !$("k").reportValidity()) return;
  const round = (state.round += 1);
  state.text = text;
  $("results").setAttribute("aria-busy", "true");
  const found = await attempt(() =>
    tell("/v1/suggest", {
      model: state.model,
      text,
      k: $("k").value ? Number($("k").value) : null, // blank: 5, or all that reach a threshold
      threshold: $("threshold").value || null,
      exclude: [...state.excluded.keys()],
      damp_head: Number($("damp").value),
    }),
  );
  if (round !== state.round) return; // a later request is under way
  $("results").removeAttribute("aria-busy");
  if (!found) {
    $("results").replaceChildren();
    say("");
    return;
  }
  const suggestions = found.results[0].suggestions;
  $("results").replaceChildren(...suggestions.map(suggestionItem));
  say(suggestions.length ? count(suggestions.length, "suggestion") : "No label is probable enough.");
}

function count(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

function suggestionItem(suggestion) {
  const { label, name, score } = suggestion;
  const why = element("div", { className: "why", hidden: true });
  const item = element("li", { className: "suggestion" });
  const verdicts = [true, false].map((accepted) =>
    element("button", {
      type: "button",
      className: accepted ? "accept" : "reject",
      ariaPressed: "false",
      ariaLabel: `${accepted ? "Accept" : "Reject"} ${name}`,
      textContent: accepted ? "Accept" : "Reject",
      onclick: () => judge(suggestion, accepted, item, verdicts),
    }),
  );
  const whyButton = element("button", {
    type: "button",
    ariaExpanded: "false",
    ariaLabel: `Why ${name}?`,
    textContent: "Why?",
    onclick: () => explain(suggestion, why, whyButton),
  });
  const leaveOut = element("button", {
    type: "button",
    ariaLabel: `Leave out ${name}`,
    textContent: "Leave out",
    onclick: () => exclude(suggestion),
  });
  item.dataset.label = label;
  item.append(
    element(
      "div",
      { className: "line" },
      element("span", { className: "name" }, name),
      element("span", { className: "score" }, percent(score)),
    ),
    bar(score),
    element("div", { className: "actions" }, ...verdicts, whyButton, leaveOut),
    why,
  );
  return item;
}

async function explain({ label }, why, button) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  button.ariaExpanded = String(!isOpen);
  why.hidden = isOpen;
  if (isOpen || why.childElementCount) return;
  why.replaceChildren(element("p", { className: "muted" }, "Loading…"));
  const found = await attempt(() => tell("/v1/explain", { model: state.model, text: state.text, label, n: 6 }));
  why.replaceChildren(...(found ? reasons(found) : []));
}

function reasons(found) {
  const parts = [];
  const clear = found.features.filter((word) => word.loss >= LEAST_LOSS);
  const words = clear.length ? clear : found.features.slice(0, 3);
  if (words.length) {
    const largest = Math.max(...words.map((word) => word.loss), LEAST_LOSS);
    const rows = words.map((word) =>
      element(
        "li",
        {},
        element("span", { className: "word" }, word.feature),
        bar(word.loss / largest, "thin"),
        element("span", { className: "muted" }, word.loss >= LEAST_LOSS ? `−${percent(word.loss)} without it` : "one of several"),
      ),
    );
    parts.push(element("h4", {}, "Words that support it"), element("ul", { className: "words" }, ...rows));
  }
  const often = found.labels.filter((other) => other.share >= LEAST_SHARE);
  if (often.length) {
    const rows = often.map((other) => element("li", {}, `${percent(other.share)} of those with “${other.name}”`));
    parts.push(element("h4", {}, "Training texts that have it"), element("ul", {}, ...rows));
  }
  if (found.samples.length) {
    const rows = found.samples.slice(0, 3).map((sample) => element("li", {}, shortened(sample.text, 160)));
    parts.push(element("h4", {}, "Similar texts that have it"), element("ul", {}, ...rows));
  }
  if (found.acts.length) {
    parts.push(element("h4", {}, "Since training"), element("ul", {}, ...found.acts.map((act) => element("li", {}, act))));
  }
  return parts.length ? parts : [element("p", { className: "muted" }, "No single word or label stands out as evidence.")];
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

// -- labels left out -------------------------------------------------------------------------------------

async function exclude({ label, name }) {
  state.excluded.set(label, name);
  showExcluded();
  await suggest();
  $("results-heading").focus();
}

function showExcluded() {
  const chips = [...state.excluded].map(([label, name]) =>
    element(
      "li",
      {},
      name,
      element("button", {
        type: "button",
        ariaLabel: `Allow ${name} again`,
        textContent: "×",
        onclick: async () => {
          state.excluded.delete(label);
          showExcluded();
          await suggest();
          $("results-heading").focus();
        },
      }),
    ),
  );
  $("excluded-list").replaceChildren(...chips);
  $("excluded").hidden = !chips.length;
}

// -- feedback --------------------------------------------------------------------------------------------

async function judge({ label, name }, accepted, item, verdicts) {
  const done = await attempt(() =>
    tell("/v1/feedback", { model: state.model, judgements: [{ text: state.text, label, accepted }] }),
  );
  if (!done) return;
  mark(item, verdicts, accepted);
  say(`${accepted ? "Accepted" : "Rejected"} ${name}.`);
  recorded(done.id, `${accepted ? "accepted" : "rejected"} “${name}”`, () => mark(item, verdicts, null));
}

function mark(item, [accept, reject], verdict) {
  accept.ariaPressed = String(verdict === true);
  reject.ariaPressed = String(verdict === false);
  item.classList.toggle("accepted", verdict === true);
  item.classList.toggle("rejected", verdict === false);
}

async function addLabel() {
  const name = $("new-name").value.trim();
  const text = $("text").value.trim();
  const lines = $("new-examples").value.split("\n").map((line) => line.trim());
  const examples = [...($("use-text").checked && text ? [text] : []), ...lines.filter(Boolean)];
  const content = { model: state.model, name };
  if (examples.length) content.examples = examples;
  if ($("new-description").value.trim()) content.description = $("new-description").value.trim();
  const done = await attempt(() => tell("/v1/labels", content));
  if (!done) return;
  $("add-form").reset();
  recorded(done.id, done.act, suggest);
  await suggest();
  say(`Added ${name}.`);
}

function recorded(id, act, afterUndo) {
  const model = state.model;
  const item = element("li", {}, element("span", {}, act));
  const button = element("button", {
    type: "button",
    ariaLabel: `Take back: ${act}`,
    textContent: "Take back",
    onclick: async () => {
      const done = await attempt(() => tell("/v1/undo", { model, id }));
      if (!done) return;
      item.remove();
      $("nothing-taught").hidden = Boolean($("acts").childElementCount);
      $("taught-heading").focus();
      await afterUndo();
      say(`Took back: ${act}.`);
    },
  });
  item.append(button);
  $("acts").prepend(item);
  $("nothing-taught").hidden = true;
}

// -- event handlers ---------------------------------------------------------------------------------------

function onSubmit(id, action) {
  $(id).addEventListener("submit", (event) => {
    event.preventDefault();
    action();
  });
}

onSubmit("suggest-form", suggest);
onSubmit("add-form", addLabel);
onSubmit("token-form", () => {
  useToken($("token").value);
  $("token").value = "";
  connect();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    $("suggest-form").requestSubmit();
  }
});
$("damp").addEventListener("input", () => {
  const share = Number($("damp").value);
  $("damp-value").textContent = share ? `damped by ${percent(share)}` : "as they are";
});
$("threshold").addEventListener("change", () => {
  $("k").placeholder = $("threshold").value ? "all" : "5";
});
for (const id of ["damp", "threshold", "k"]) {
  $(id).addEventListener("change", () => {
    if (state.text) suggest();
  });
}
connect();
