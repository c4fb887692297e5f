// A queue of texts from a file: one after the other by keyboard, kept in this browser until it is closed.

import { $, attempt, count, element, on, save, say } from "./dom.js";
import { forget, keep, kept } from "./keep.js";
import { readRecords, tagsOf, textOf, writeRecords } from "./records.js";
import { tell } from "./service.js";
import { bringIntoView, clearSuggestions, suggest, work } from "./suggestions.js";

const N_ASKED = 10; // labels of a text whose uncertainty counts
const MOST_CHARACTERS = 400_000; // of the texts in a request
const BUSY = 429;
let queue = null; // what readRecords returns, with other text and tag columns if they are chosen
let progress = null; // order of the rows, place in it, rows that are done, and verdicts by row and label

// -- files -----------------------------------------------------------------------------------------------

async function load(file) {
  const loaded = await attempt($("queue"), async () => readRecords(file.name, new Uint8Array(await file.arrayBuffer())));
  if (!loaded) return;
  queue = loaded;
  progress = untouched(loaded);
  $("uncertain").checked = false;
  await attempt($("queue"), () => keep("queue", queue));
  await show({ focus: true });
}

// Go on with the file of an earlier visit, unless another one has been loaded meanwhile.
export async function restore() {
  const [file, earlier] = await Promise.all([kept("queue"), kept("progress")]).catch(() => []);
  if (!file || queue) return;
  queue = file;
  progress = earlier ?? untouched(file);
  await show();
}

function untouched({ rows }) {
  return { order: rows.map((_, row) => row), place: 0, done: [], verdicts: {}, isExported: true };
}

function exportDecided() {
  const rows = new Set([...progress.done, ...Object.keys(progress.verdicts).map(Number)]);
  const labels = (row, accepted) =>
    Object.entries(progress.verdicts[row] ?? {}).flatMap(([label, each]) => (each.accepted === accepted ? [label] : []));
  const decided = [...rows].map((row) => [row, { accepted: labels(row, true), rejected: labels(row, false) }]);
  const [stem, ending] = queue.name.split(/(\.[^.]+$)/);
  const name = `${stem}-decided${ending ?? ""}`;
  save(name, writeRecords(queue, decided), queue.kind === "csv" ? "text/csv" : "application/jsonl");
  progress.isExported = true;
  const command = `tacit learn MODEL ${name} --text ${queue.textColumns.join(",")}`;
  say(`Exported ${count(decided.length, "text")}. Other models learn from them by: ${command}`);
  paint();
}

async function close() {
  if (!progress.isExported && !confirm("Close the file? What you decided since the last export is forgotten here.")) return;
  queue = progress = work.item = null;
  work.assigned = [];
  await attempt($("queue"), forget);
  $("text").readOnly = false;
  $("text").value = "";
  clearSuggestions();
  paint();
  $("text").focus();
}

// -- from text to text -----------------------------------------------------------------------------------

async function show({ focus = false } = {}) {
  const row = progress.order[progress.place];
  work.item = row;
  work.assigned = tagsOf(queue.rows[row], queue);
  $("text").readOnly = true;
  $("text").value = textOf(queue.rows[row], queue.textColumns);
  $("text").scrollTop = 0;
  paint();
  if (focus) bringIntoView($("reading"));
  const decided = Object.entries(progress.verdicts[row] ?? {});
  await Promise.all([suggest({ focus, decided: new Map(decided) }), keepProgress()]);
}

function next({ isDecided }) {
  if (!queue) return undefined;
  const { order, done } = progress;
  const row = order[progress.place];
  if (isDecided && !done.includes(row)) {
    done.push(row);
    progress.isExported = false;
  }
  const isOpen = (each) => !done.includes(each) && each !== row;
  const after = order.findIndex((each, place) => place > progress.place && isOpen(each));
  progress.place = after >= 0 ? after : order.findIndex(isOpen);
  if (progress.place >= 0) return show({ focus: true });
  progress.place = order.indexOf(row);
  paint();
  keepProgress();
  if (done.length === order.length) $("export").focus();
  return say(done.length === order.length ? `All ${count(done.length, "text")} are decided.` : "There is no other text left.");
}

function previous() {
  if (!queue || !progress.place) return;
  progress.place -= 1;
  show({ focus: true });
}

function keepProgress() {
  return attempt($("queue"), () => keep("progress", progress));
}

on("decided", ({ item, label, name, verdict, act }) => {
  if (!queue || item === null) return;
  const verdicts = (progress.verdicts[item] ??= {});
  if (verdict === null) delete verdicts[label];
  else verdicts[label] = { name, accepted: verdict, act };
  if (!Object.keys(verdicts).length) delete progress.verdicts[item];
  progress.isExported = false;
  paint();
  keepProgress();
});

// -- the most uncertain first ----------------------------------------------------------------------------

async function reorder() {
  const inFile = queue.rows.map((_, row) => row);
  const isOpen = (row) => !progress.done.includes(row);
  let open = inFile.filter(isOpen);
  if ($("uncertain").checked) {
    $("uncertain").disabled = true;
    const doubts = await attempt($("queue"), () => uncertainties(open));
    $("uncertain").disabled = false;
    if (!doubts) $("uncertain").checked = false;
    else open = open.sort((one, other) => doubts.get(other) - doubts.get(one));
  }
  progress.order = $("uncertain").checked ? [...progress.done, ...open] : inFile;
  progress.place = open.length ? progress.order.indexOf(open[0]) : 0;
  await show();
}

// How much an answer would tell, by row: entropy in bits of the first labels or, without probabilities, how near the
// nearest of their scores is to the threshold.
async function uncertainties(rows) {
  const found = new Map(rows.map((row) => [row, -Infinity])); // of rows without a text
  const texts = rows.map((row) => [row, textOf(queue.rows[row], queue.textColumns)]).filter(([, text]) => text.trim());
  for (let first = 0; first < texts.length; ) {
    const batch = batchFrom(texts, first);
    say(`Reading text ${first + 1} of ${texts.length}…`);
    const results = await suggestions(batch.map(([, text]) => text));
    batch.forEach(([row], place) => found.set(row, uncertainty(results[place].suggestions)));
    first += batch.length;
  }
  return found;
}

function batchFrom(texts, first) {
  const batch = [texts[first]];
  let size = texts[first][1].length;
  for (const each of texts.slice(first + 1, first + work.model.max_batch)) {
    size += each[1].length;
    if (size > MOST_CHARACTERS) break;
    batch.push(each);
  }
  return batch;
}

async function suggestions(texts) {
  for (;;) {
    try {
      return (await tell("/v1/suggest", { model: work.model.name, texts, k: N_ASKED })).results;
    } catch (error) {
      if (error.status !== BUSY) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function uncertainty(suggested) {
  if (!work.model.calibrated) return -Math.min(...suggested.map(({ score }) => Math.abs(score - work.model.threshold)));
  const bits = (share) => (share > 0 && share < 1 ? -share * Math.log2(share) - (1 - share) * Math.log2(1 - share) : 0);
  return suggested.reduce((total, { score }) => total + bits(score), 0);
}

// -- what is shown ---------------------------------------------------------------------------------------

function paint() {
  document.body.classList.toggle("has-queue", Boolean(queue));
  for (const id of ["queue-closed", "suggest-row"]) $(id).hidden = Boolean(queue);
  for (const id of ["queue-open", "queue-keys"]) $(id).hidden = !queue;
  if (!queue) return;
  const { done, order, place } = progress;
  $("queue-name").textContent = queue.name;
  $("queue-place").textContent = `text ${place + 1} of ${order.length}, ${done.length} decided${done.includes(order[place]) ? ", this one too" : ""}`;
  Object.assign($("queue-progress"), { max: order.length, value: done.length });
  $("previous").disabled = !place;
  for (const id of ["text-columns", "tag-columns"]) $(id).hidden = queue.columns.length < 2;
  $("text-columns-list").replaceChildren(...queue.columns.map(columnChoice));
  $("tag-column").replaceChildren(...["", ...queue.columns].map((value) => element("option", { value }, value || "none")));
  $("tag-column").value = queue.tagColumn;
}

function columnChoice(column) {
  const box = element("input", { type: "checkbox", checked: queue.textColumns.includes(column) });
  box.addEventListener("change", async () => {
    const chosen = queue.columns.filter((each) => (each === column ? box.checked : queue.textColumns.includes(each)));
    if (!chosen.length) {
      box.checked = true;
      return;
    }
    queue.textColumns = chosen;
    await attempt($("queue"), () => keep("queue", queue));
    await show();
    [...$("text-columns-list").querySelectorAll("label")].find((each) => each.textContent.trim() === column).firstChild.focus();
  });
  return element("label", { className: "check" }, box, ` ${column}`);
}

// -- event handlers --------------------------------------------------------------------------------------

$("file").addEventListener("change", () => {
  if ($("file").files.length) load($("file").files[0]);
  $("file").value = "";
});
for (const [id, action] of [
  ["next", () => next({ isDecided: true })],
  ["skip", () => next({ isDecided: false })],
  ["previous", previous],
  ["export", exportDecided],
  ["close", close],
]) {
  $(id).addEventListener("click", action);
}
$("uncertain").addEventListener("change", reorder);
$("tag-column").addEventListener("change", async () => {
  queue.tagColumn = $("tag-column").value;
  await attempt($("queue"), () => keep("queue", queue));
  await show();
});
on("next-text", next);
on("previous-text", previous);
