// The suggestions for a text: accept, reject, leave out, and the keys for it.

import { $, attempt, bar, button, count, element, emit, fill, on, percent, say } from "./dom.js";
import { tell } from "./service.js";
import { clearWhy, toggleWhy } from "./why.js";

const SWIPE = 40; // pixels
const N_RANKED = 20; // labels whose current scores are asked for together
const MOST = 1000; // labels in a response

// What is being worked on: the model's card, the text, its number in the queue and the tags that it has there, its rows by
// label, and the labels left out.
export const work = { model: null, text: "", item: null, assigned: [], rows: new Map(), excluded: new Map(), round: 0 };

// With `decided`, labels that were judged before are shown with their verdicts, suggested or not.
export async function suggest({ focus = false, scroll = false, decided = new Map() } = {}) {
  const text = $("text").value.trim();
  showAssigned();
  if (!text) {
    clearSuggestions();
    say("There is no text here.");
    return;
  }
  if (!$("k").reportValidity()) return;
  const round = (work.round += 1);
  work.text = text;
  clearWhy();
  $("empty").hidden = true;
  $("results").setAttribute("aria-busy", "true");
  const found = await attempt($("suggestions"), () => suggested(text, [...decided.keys()]));
  if (round !== work.round) return; // a later request is under way
  $("results").removeAttribute("aria-busy");
  work.rows = new Map((found ?? []).map((each) => [each.label, newRow(each)]));
  for (const [label, { accepted, act }] of decided) {
    const row = work.rows.get(label);
    if (row) Object.assign(row, { verdict: accepted, act });
  }
  $("results").replaceChildren(...[...work.rows.values()].map((row) => row.item));
  paint();
  $("assign").hidden = !found;
  $("keys").hidden = !work.rows.size;
  say(!found ? "" : work.rows.size ? count(work.rows.size, "suggestion") : "No label is probable enough.");
  if (scroll) bringIntoView($("suggestions"));
  if (focus) (work.rows.values().next().value?.accept ?? $("results-heading")).focus({ preventScroll: true });
}

// Scroll to a section unless it begins in the upper part of the screen; on a phone, in any case.
export function bringIntoView(section) {
  const { top } = section.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2 || matchMedia("(max-width: 48rem)").matches) section.scrollIntoView();
}

export function clearSuggestions() {
  work.round += 1;
  Object.assign(work, { text: "", rows: new Map() });
  clearWhy();
  $("results").replaceChildren();
  showAssigned();
  for (const id of ["assign", "keys"]) $(id).hidden = true;
  $("empty").hidden = false;
  say("");
}

// Suggestions as the options ask for them, and those decided earlier; scores are not damped.
async function suggested(text, decided) {
  const damping = Number($("damp").value);
  const answer = await tell("/v1/suggest", {
    model: work.model.name,
    text,
    k: $("k").value ? Number($("k").value) : null, // blank: 5, or all that reach a threshold
    threshold: $("threshold").value || null,
    exclude: [...work.excluded.keys()],
    damp_head: damping,
  });
  const found = answer.results[0].suggestions;
  const others = decided.filter((label) => !found.some((each) => each.label === label));
  const unknown = damping ? [...found.map((each) => each.label), ...others] : others;
  const own = await scores(text, unknown);
  for (const each of found) each.score = own.get(each.label)?.score ?? each.score;
  return [...found, ...others.map((label) => own.get(label)).filter(Boolean)];
}

// Suggestions by label for given labels, with scores as they are now: those of a ranking of all labels, as scores may
// depend on the other labels ranked, and those of labels far below on their own.
async function scores(text, labels) {
  const found = new Map();
  const look = async (wish) => {
    const answer = await tell("/v1/suggest", { model: work.model.name, text, ...wish });
    for (const each of answer.results[0].suggestions) found.set(each.label, each);
  };
  if (labels.length) await look({ k: N_RANKED });
  const others = labels.filter((label) => !found.has(label)).slice(0, MOST);
  if (others.length) await look({ include: others, k: others.length });
  return found;
}

// -- rows ------------------------------------------------------------------------------------------------

function newRow({ label, name, score }) {
  const row = { label, name, score, verdict: null, act: null };
  row.item = element("li", { className: "suggestion" });
  row.item.dataset.label = label;
  row.tick = element("span", { className: "tick", ariaHidden: "true" });
  row.shown = element("span", { className: "score" });
  row.remark = element("span", { className: "muted" });
  const what = element("span", { className: "unseen" }, "Accept ");
  const parts = [row.tick, what, element("span", { className: "name" }, name), row.remark, " ", row.shown];
  row.accept = element("button", { type: "button", className: "accept", title: "Accept", onclick: () => accept(row) }, ...parts);
  row.reject = button("Reject", {
    className: "reject",
    ariaLabel: `Reject ${name}`,
    title: "Wrong for this text: the model learns it",
    onclick: () => reject(row),
  });
  row.whyButton = button("Why?", { ariaExpanded: "false", ariaLabel: `Why? ${name}`, onclick: () => toggleWhy(row) });
  row.leaveOut = button("Leave out", {
    ariaLabel: `Leave out ${name}`,
    title: "Do not show it for now: nothing is learned",
    onclick: () => exclude(row),
  });
  row.more = button("⋯", { className: "more", ariaExpanded: "false", ariaLabel: `More on ${name}`, onclick: () => open(row) });
  row.bar = bar(0);
  row.why = element("div", { className: "why", hidden: true });
  const actions = element("div", { className: "actions" }, row.reject, row.whyButton, row.leaveOut);
  row.item.append(element("div", { className: "line" }, row.accept, row.more, actions), row.bar, row.why);
  listenToSwipes(row);
  return row;
}

function showAssigned() {
  $("assigned-list").replaceChildren(...work.assigned.map((tag) => element("li", {}, tag)));
  $("assigned").hidden = !work.assigned.length;
}

function paint() {
  const assigned = new Set(work.assigned.map((tag) => tag.toLowerCase()));
  const rows = [...work.rows.values()];
  const most = Math.max(...rows.map((row) => row.score));
  const isProbability = work.model.calibrated;
  for (const row of rows) {
    const isAssigned = [row.label, row.name].some((name) => assigned.has(name.toLowerCase()));
    row.tick.textContent = (row.verdict ?? (isAssigned || null)) === null ? "○" : row.verdict === false ? "✗" : "✓";
    row.remark.textContent = isAssigned ? "in the file" : "";
    row.shown.textContent = isProbability ? percent(row.score) : `score ${row.score.toFixed(2)}`;
    fill(row.bar, isProbability ? row.score : most > 0 ? row.score / most : 0);
    row.accept.ariaPressed = String(row.verdict === true);
    row.reject.ariaPressed = String(row.verdict === false);
    row.item.classList.toggle("assigned", isAssigned);
    row.item.classList.toggle("accepted", row.verdict === true);
    row.item.classList.toggle("rejected", row.verdict === false);
  }
}

function open(row) {
  const isOpen = row.item.classList.toggle("open");
  row.more.ariaExpanded = String(isOpen);
}

function listenToSwipes(row) {
  let start = null;
  row.item.addEventListener("pointerdown", (event) => {
    start = event.pointerType === "mouse" ? null : event;
  });
  row.item.addEventListener("pointerup", (event) => {
    if (!start) return;
    const [across, down] = [event.clientX - start.clientX, event.clientY - start.clientY];
    if (Math.abs(across) > SWIPE && Math.abs(down) < SWIPE && across < 0 !== row.item.classList.contains("open")) open(row);
  });
}

// -- verdicts --------------------------------------------------------------------------------------------

function accept(row) {
  return decide(row, row.verdict === true ? null : true);
}

function reject(row) {
  return decide(row, row.verdict === false ? null : false);
}

// Record a verdict, or take back the one there is (null); scores follow what was learned.
async function decide(row, verdict) {
  if (row.isBusy) return;
  row.isBusy = true;
  const { text, item } = work;
  const model = work.model.name;
  const { label, name, act } = row;
  const done = await attempt(row.item, async () => {
    if (row.act) await tell("/v1/undo", { model, id: row.act });
    Object.assign(row, { act: null, verdict: null });
    if (verdict === null) return true;
    const { id } = await tell("/v1/feedback", { model, judgements: [{ text, label, accepted: verdict }] });
    return Object.assign(row, { act: id, verdict });
  });
  row.isBusy = false;
  paint();
  if (row.act !== act) emit("decided", { item, label, name, verdict: row.verdict, act: row.act });
  if (!done) return;
  say(verdict === null ? `Took back the verdict on ${name}.` : `${verdict ? "Accepted" : "Rejected"} ${name}. The model has learned it.`);
  await refresh();
}

async function refresh() {
  const round = work.round;
  const now = await attempt($("suggestions"), () => scores(work.text, [...work.rows.keys()]));
  if (!now || round !== work.round) return;
  for (const row of work.rows.values()) row.score = now.get(row.label)?.score ?? row.score;
  paint();
}

// Accept a label that may not be in the list.
export async function assign({ label, name }) {
  let row = work.rows.get(label);
  if (!row) {
    const found = await attempt($("assign"), () => scores(work.text, [label]));
    if (!found) return;
    row = newRow(found.get(label) ?? { label, name, score: 0 });
    work.rows.set(label, row);
    $("results").append(row.item);
  }
  if (row.verdict !== true) await decide(row, true);
}

on("undone", ({ id }) => {
  const row = [...work.rows.values()].find((each) => each.act === id);
  if (row) {
    Object.assign(row, { act: null, verdict: null });
    emit("decided", { item: work.item, label: row.label, name: row.name, verdict: null, act: null });
  }
  if (work.text) suggest({ decided: verdicts() });
});

// -- labels left out -------------------------------------------------------------------------------------

async function exclude({ label, name }) {
  work.excluded.set(label, name);
  showExcluded();
  await suggest({ focus: true, decided: verdicts() });
  say(`Left out ${name} for now. Nothing was learned.`);
}

export function verdicts() {
  const decided = [...work.rows.values()].filter((row) => row.verdict !== null && !work.excluded.has(row.label));
  return new Map(decided.map((row) => [row.label, { accepted: row.verdict, act: row.act }]));
}

export function showExcluded() {
  const chips = [...work.excluded].map(([label, name]) => {
    const allow = async () => {
      work.excluded.delete(label);
      showExcluded();
      await suggest({ focus: true, decided: verdicts() });
    };
    return element("li", {}, name, button("×", { ariaLabel: `Allow ${name} again`, onclick: allow }));
  });
  $("excluded-list").replaceChildren(...chips);
  $("excluded").hidden = !chips.length;
}

// -- keys, while the focus is in the list ----------------------------------------------------------------

$("results").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const rows = [...work.rows.values()];
  const place = rows.findIndex((row) => row.item.contains(event.target));
  const keys = {
    ArrowDown: () => rows[Math.min(place + 1, rows.length - 1)].accept.focus(),
    ArrowUp: () => rows[Math.max(place - 1, 0)].accept.focus(),
    x: () => reject(rows[place]),
    w: () => toggleWhy(rows[place]),
    l: () => exclude(rows[place]),
    "/": () => $("assign-name").focus(),
    n: () => emit("next-text", { isDecided: true }),
    s: () => emit("next-text", { isDecided: false }),
    p: () => emit("previous-text"),
  };
  const action = place >= 0 && keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
