// The curator's page: one step at a time, back and forth, and nothing is spent before "Confirm".
import { element, show } from "/page/shared.js";
import * as account from "/web/account.js";
import * as estimate from "/web/estimate.js";
import * as exact from "/web/exact.js";
import { draw, setChangeListener } from "/web/fields.js";
import * as result from "/web/result.js";
import * as privateFile from "/web/private_file.js";
import { afterPause, byId, clear, post, restore, save, state, unsaved } from "/web/state.js";

const section = (name) => document.querySelector(`section[data-step="${name}"]`);
const index = (name) => unsaved.steps.findIndex((step) => step.name === name);
const showError = (error) => show(byId("problem"), error.message);
const loadAccountSoon = afterPause(() => account.load().then(account.showAccount).catch(showError));
const previewSoon = afterPause(() => exact.startPreview());

function showSteps() {
  byId("steps").replaceChildren(...unsaved.steps.map((step, i) => {
    const isCurrent = step.name === state.step;
    const isClosed = step.name === "result" ? !state.run : i > state.furthest;
    return element("li", {}, element("button", { type: "button", "data-go": step.name, disabled: isClosed, "aria-current": isCurrent ? "step" : null, "aria-label": `${i + 1}. ${step.title}`, onclick: () => go(step.name) }, `${i + 1}.`, element("span", { text: ` ${step.title}` })));
  }));
}

// Shows a step. All values stay; the "back" of the browser works, too.
function go(name, { addToHistory = true } = {}) {
  state.step = name;
  state.furthest = Math.max(state.furthest, name === "result" ? 0 : index(name));
  save();
  if (addToHistory) history.pushState({ step: name }, "", "/");
  show(byId("problem"), "");
  show(byId("missing"), "");
  if (name === "who") exact.suggestUnit();
  for (const step of unsaved.steps) section(step.name).classList.toggle("hidden", step.name !== name);
  draw(name);
  if (name === "count") exact.showCount();
  if (name === "out") exact.showProducts((product) => { exact.chooseProduct(product); draw("out"); exact.startPreview(); });
  const stepIndex = index(name);
  byId("next-words").textContent = unsaved.steps[stepIndex].next;
  byId("back").classList.toggle("hidden", stepIndex === 0 || name === "result");
  byId("next").classList.toggle("hidden", name === "confirm" || name === "result");
  showSteps();
  document.title = `${unsaved.steps[stepIndex].title}: from a private file to a published table`;
  document.body.setAttribute("data-step", name);
  byId(`title-${name}`).focus();
  if (name === "check") privateFile.startCheck();
  else if (name !== "data" && name !== "result") exact.startPreview();
  if (["count", "exact"].includes(name)) account.draw(name).then(exact.showConfirmation).catch(showError);
  if (name === "confirm") account.load().then(exact.showConfirmation).catch(showError);
}

// Returns true if nothing is missing before the next step; else shows what is.
async function isReady() {
  if (state.step === "check") return privateFile.isComplete();
  if (state.step === "count") return exact.areLimitsTyped();
  if (state.step !== "data") return true;
  const path = byId("source").value.trim();
  if (!path) { show(byId("missing"), "Choose a file first."); return false; }
  return privateFile.isFileRead(path);
}

async function next(event) {
  event.preventDefault();
  const stepIndex = index(state.step);
  if (["confirm", "result"].includes(state.step) || !(await isReady()) || unsaved.steps[stepIndex].name !== state.step) return;
  if (["out", "exact"].includes(state.step)) {
    exact.startPreview();
    await exact.waitForPreview();
    if (unsaved.problem) return;
    if (state.step === "exact" && unsaved.preview.budget.refusal) return exact.showBudgetRefusal();
    if (state.step === "exact" && account.showQuestion(byId("missing"))) return;
  }
  go(unsaved.steps[stepIndex + 1].name);
}

// Empties all fields that stand outside of forms, for another private file; results stay.
function empty(hadFile) {
  exact.empty();
  estimate.empty();
  byId("emptied").textContent = hadFile ? "All that was typed about the former file is emptied." : "";
  showSteps();
}

async function startAgain() {
  if (state.source) await post("forget", { path: state.source }).catch(() => {});
  clear();
  save();
  await privateFile.chooseFile("");
  byId("source").value = "";
  byId("upload").value = "";
  empty(false);
  go("data");
}

function onFieldChange(field) {
  if (state.step === "check") {
    if (field.role === "date") draw("check");
    privateFile.checkSoon();
    return;
  }
  if (field.role === "unit") exact.showCount();
  if (field.role === "budget") estimate.hidePrice();
  if (["store", "same_people"].includes(field.role)) loadAccountSoon();
  if (state.step === "count" && state.values[field.key]) show(byId(`f-${field.key}-note`), "", "");
  previewSoon();
}

async function start() {
  restore();
  if (location.hash.length > 1) {
    state.token = location.hash.slice(1);
    history.replaceState(null, "", "/");
  }
  save();
  Object.assign(unsaved, await post("form"));
  byId("confidence").textContent = unsaved.confidence;
  unsaved.steps.forEach((step, i) => { byId(`title-${step.name}`).textContent = `${i + 1}. ${step.title}`; });
  state.values = { ...unsaved.products[state.product].preset, ...state.values };
  byId("source").value = state.source;
  setChangeListener(onFieldChange);
  exact.setStepListener(go);
  exact.setStartListener(result.follow);
  privateFile.listen();
  privateFile.setCountListener(exact.showConfirmation);
  privateFile.setNewFileListener(empty);
  byId("again").addEventListener("click", () => startAgain().catch(showError));
  exact.listen();
  estimate.listen();
  estimate.setUseListener(exact.startPreview);
  account.listen();
  account.setChangeListener(() => { estimate.hidePrice(); exact.startPreview(); });
  exact.showQuestions();
  result.listen({ onOpen: () => { if (state.step !== "result") go("result"); }, onError: showError, offerStep: exact.offerStep, goTo: go });
  byId("guide").addEventListener("submit", (event) => next(event).catch(showError));
  byId("back").addEventListener("click", () => go(unsaved.steps[index(state.step) - 1].name));
  window.addEventListener("popstate", (event) => go(event.state?.step ?? "data", { addToHistory: false }));
  if (state.source) await privateFile.chooseFile(state.source);
  const step = state.step === "result" && !state.run ? "data" : state.step;
  history.replaceState({ step }, "", "/");
  go(step, { addToHistory: false });
  if (state.step === "result") result.follow(state.run).catch(showError);
  else await result.showRuns();
  document.body.setAttribute("data-ready", "yes");
}

start().catch(showError);
