// The web page: connects to the service, and says what the model is before there is a text.

import "./assign.js";
import { $, attempt, button, count, element, on, onSubmit, percent, save, say } from "./dom.js";
import { restore } from "./queue.js";
import { ask, download, hasToken, useToken } from "./service.js";
import { showExcluded, suggest, verdicts, work } from "./suggestions.js";
import { showTaught } from "./taught.js";


// -- models ----------------------------------------------------------------------------------------------

async function connect() {
  const found = await attempt($("connection"), () => ask("/v1/models"));
  if (!found) {
    $("about-model").textContent = "Not connected.";
    return;
  }
  $("token-form").hidden = true;
  $("version").textContent = `tacit ${found.version}.`;
  $("model").replaceChildren(...found.models.map((model) => element("option", { value: model.name }, model.name)));
  $("choose-model").hidden = found.models.length < 2;
  $("model").onchange = async () => {
    await use(found.models.find((model) => model.name === $("model").value));
    if (work.text) await suggest();
  };
  await use(found.models[0]);
  await restore();
}

async function use(model) {
  work.model = model;
  work.excluded.clear();
  showExcluded();
  $("about-model").textContent = `${model.name}: ${count(model.labels, "label")}`;
  $("describe-model").replaceChildren(...description(model));
  await showTaught();
}

function description(model) {
  const learned = model.samples ? `, learned from ${count(model.samples, "text")}` : "";
  const { "P@1": first, "R@5": found } = model.metrics;
  const quality = [];
  if (first !== undefined) quality.push(`the first suggestion was right ${percent(first)} of the time`);
  if (found !== undefined) quality.push(`the first five had ${percent(found)} of the true labels`);
  const lines = [`The model “${model.name}” chooses among ${count(model.labels, "label")}${learned}.`];
  if (quality.length) lines.push(`On texts held out from training, ${quality.join(", and ")}.`);
  if (!model.calibrated) {
    lines.push("Its scores are not probabilities: no samples were held out to calibrate them on.");
  } else if (model.calibration_error !== null) {
    lines.push(`Its probabilities were off by ${points(model.calibration_error)} on average${sureness(model)}.`);
  }
  return [...lines.map((line) => element("p", {}, line)), ...(model.report ? [reportLink(model)] : [])];
}

const points = (share) => `${(100 * share).toFixed(1)} points`;

function sureness({ calibration_samples: samples, calibration_spread: spread }) {
  return samples && spread ? `, on ${count(samples, "text")}; each is uncertain by about ±${points(spread)}` : "";
}

// With a token the report is downloaded: a link cannot send one.
function reportLink(model) {
  const path = `/v1/models/${encodeURIComponent(model.name)}/report`;
  const fetched = async () => {
    const report = await attempt($("empty"), () => download(path));
    if (report) save(`${model.name}-report.html`, report, "text/html");
  };
  const words = "How good it is, label by label: the report";
  return element("p", {}, hasToken() ? button("Download the report", { onclick: fetched }) : element("a", { href: path }, words));
}

// -- an example ------------------------------------------------------------------------------------------

async function tryExample() {
  if (!work.model.example) return;
  $("text").value = work.model.example;
  await suggest({ focus: true, scroll: true });
}

// -- event handlers --------------------------------------------------------------------------------------

onSubmit("suggest-form", () => suggest({ scroll: true, focus: document.activeElement === $("text") }));
onSubmit("token-form", () => {
  useToken($("token").value);
  $("token").value = "";
  connect();
});
on("token-needed", () => {
  $("token-form").hidden = false;
  $("token").focus();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    $("suggest-form").requestSubmit();
  }
});
$("example").addEventListener("click", tryExample);
$("damp").addEventListener("input", () => {
  const share = Number($("damp").value);
  $("damp-value").textContent = share ? `ranked lower by ${percent(share)}` : "as they are";
});
$("threshold").addEventListener("change", () => {
  $("k").placeholder = $("threshold").value ? "all" : "5";
});
for (const id of ["damp", "threshold", "k"]) {
  $(id).addEventListener("change", () => {
    if (work.text) suggest({ decided: verdicts() });
  });
}
say("");
connect();
