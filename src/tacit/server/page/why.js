// Why a label is suggested, and the words of the text that speak for it.

import { $, attempt, bar, element, marked, percent, shortened } from "./dom.js";
import { tell } from "./service.js";
import { work } from "./suggestions.js";

const LEAST_LOSS = 0.005; // smallest loss of probability for a word to be listed as evidence
const LEAST_SHARE = 0.1; // smallest share of another label's texts for that label to be listed as evidence
const N_REASONS = 8;
let opened = null; // the row whose reasons are shown

export async function toggleWhy(row) {
  const isOpen = opened === row;
  clearWhy();
  if (isOpen) return;
  opened = row;
  row.whyButton.ariaExpanded = "true";
  row.why.hidden = false;
  row.why.replaceChildren(element("p", { className: "muted" }, "Loading…"));
  const wish = { model: work.model.name, text: work.text, label: row.label, n: N_REASONS };
  const found = await attempt(row.why, () => tell("/v1/explain", wish));
  row.why.firstChild.remove();
  if (!found || opened !== row) return;
  const isEvidence = evidence(found);
  row.why.replaceChildren(...reasons(found, isEvidence));
  if ($("text").value.trim() === work.text) $("marks").replaceChildren(...marked(`${$("text").value}\n`, isEvidence));
  scrollMarks();
}

export function clearWhy() {
  $("marks").replaceChildren();
  if (!opened) return;
  opened.whyButton.ariaExpanded = "false";
  opened.why.hidden = true;
  opened = null;
}

function scrollMarks() {
  $("marks").scrollTop = $("text").scrollTop;
}

// A test for words that speak for the label: by themselves, or in one of its names.
function evidence({ features, names, names_in_part }) {
  const named = [...names, ...names_in_part].flatMap((name) => name.toLowerCase().match(/[\p{L}\p{M}\p{N}_]{3,}/gu) ?? []);
  const words = new Set([...named, ...clear(features).flatMap((each) => each.words.map((word) => word.toLowerCase()))]);
  return (word) => words.has(word.toLowerCase());
}

function clear(features) {
  const sorted = [...features].sort((one, other) => other.loss - one.loss);
  const large = sorted.filter((each) => each.loss >= LEAST_LOSS);
  return large.length ? large : sorted.slice(0, 3);
}

function reasons(found, isEvidence) {
  const words = clear(found.features);
  const largest = Math.max(...words.map((word) => word.loss), LEAST_LOSS);
  const shares = found.labels.filter((other) => other.share >= LEAST_SHARE).sort((one, other) => other.share - one.share);
  const parts = [
    found.names.length && element("p", {}, "Its name is in the text: ", found.names.map((name) => `“${name}”`).join(", "), "."),
    found.names_in_part.length &&
      element("p", {}, "Part of its name is in the text: ", found.names_in_part.map((name) => `“${name}”`).join(", "), "."),
    ...list(
      "Words that support it",
      words.map((word) => [
        word.words.join(", ") || word.feature,
        word.loss >= LEAST_LOSS ? word.loss / largest : null,
        word.loss >= LEAST_LOSS ? `−${percent(word.loss)} without it` : "one of several",
      ]),
    ),
    ...list(
      "Training texts that have it",
      shares.map((other) => [`of those with “${other.name}”`, other.share, percent(other.share)]),
    ),
    ...samples(found, isEvidence),
    ...(found.acts.length ? [heading("Since training"), element("ul", {}, ...found.acts.map((act) => element("li", {}, act)))] : []),
  ].filter(Boolean);
  return parts.length ? parts : [element("p", { className: "muted" }, "No single word or label stands out as evidence.")];
}

function heading(text) {
  return element("h3", {}, text);
}

function list(title, rows) {
  if (!rows.length) return [];
  const items = rows.map(([name, share, amount]) =>
    element("li", {}, element("span", { className: "word" }, name), share === null ? "" : bar(share), element("span", { className: "muted" }, amount)),
  );
  return [heading(title), element("ul", { className: "amounts" }, ...items)];
}

function samples(found, isEvidence) {
  if (!found.samples.length) return [];
  const items = found.samples.slice(0, 3).map((sample) => {
    const labels = sample.labels.map((name) => element("li", { className: name === found.name ? "same" : "" }, name));
    const text = element("p", {}, ...marked(shortened(sample.text, 240), isEvidence));
    return element("li", {}, text, element("ul", { className: "chips", ariaLabel: "Its labels" }, ...labels));
  });
  return [heading("Similar training texts"), element("ul", { className: "similar" }, ...items)];
}

$("text").addEventListener("scroll", scrollMarks);
$("text").addEventListener("input", () => $("marks").replaceChildren());
