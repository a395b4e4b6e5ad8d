// The curator's page: one step at a time, back and forth, and nothing is spent before "Confirm".
import { element, show } from "/page/shared.js";
import * as account from "/web/account.js";
import * as estimate from "/web/estimate.js";
import * as exact from "/web/exact.js";
import { draw, onChange } from "/web/fields.js";
import * as result from "/web/result.js";
import { afterPause, ask, by, forgetAll, keep, live, recall, state } from "/web/state.js";
import * as understood from "/web/understood.js";

const section = (name) => document.querySelector(`section[data-step="${name}"]`);
const index = (name) => live.steps.findIndex((step) => step.name === name);
const failed = (error) => show(by("problem"), error.message);
const accountSoon = afterPause(() => account.refresh().then(account.tell).catch(failed));
const foreseeSoon = afterPause(() => exact.foresee());

function steps() {
  by("steps").replaceChildren(...live.steps.map((step, i) => {
    const current = step.name === state.step;
    const closed = step.name === "result" ? !state.run : i > state.furthest;
    return element("li", {}, element("button", { type: "button", "data-go": step.name, disabled: closed, "aria-current": current ? "step" : null, "aria-label": `${i + 1}. ${step.title}`, onclick: () => go(step.name) }, `${i + 1}.`, element("span", { text: ` ${step.title}` })));
  }));
}

// Show a step. What was typed stays; the browser's own "back" works, too.
function go(name, { recorded = true } = {}) {
  state.step = name;
  state.furthest = Math.max(state.furthest, name === "result" ? 0 : index(name));
  keep();
  if (recorded) history.pushState({ step: name }, "", "/");
  show(by("problem"), "");
  show(by("missing"), "");
  if (name === "who") exact.proposeUnit();
  for (const step of live.steps) section(step.name).classList.toggle("hidden", step.name !== name);
  draw(name);
  if (name === "count") exact.showCount();
  if (name === "out") exact.products((product) => { exact.choose(product); draw("out"); exact.foresee(); });
  const at = index(name);
  by("next-words").textContent = live.steps[at].next;
  by("back").classList.toggle("hidden", at === 0 || name === "result");
  by("next").classList.toggle("hidden", name === "confirm" || name === "result");
  steps();
  document.title = `${live.steps[at].title}: from a private file to a published table`;
  document.body.setAttribute("data-step", name);
  by(`title-${name}`).focus();
  if (name === "check") understood.understand();
  else if (name !== "data" && name !== "result") exact.foresee();
  if (["count", "exact"].includes(name)) account.draw(name).then(exact.confirmation).catch(failed);
  if (name === "confirm") account.refresh().then(exact.confirmation).catch(failed);
}

// What has to be there before the next step.
async function ready() {
  if (state.step === "check") return understood.complete();
  if (state.step === "count") return exact.limitsTyped();
  if (state.step !== "data") return true;
  const path = by("source").value.trim();
  if (!path) { show(by("missing"), "Choose a file first."); return false; }
  return understood.taken(path);
}

async function next(event) {
  event.preventDefault();
  const at = index(state.step);
  if (["confirm", "result"].includes(state.step) || !(await ready()) || live.steps[at].name !== state.step) return;
  if (["out", "exact"].includes(state.step)) {
    exact.foresee();
    await exact.settled();
    if (live.problem) return;
    if (state.step === "exact" && live.preview.budget.refusal) return exact.refuseBudget();
    if (state.step === "exact" && account.asks(by("missing"))) return;
  }
  go(live.steps[at + 1].name);
}

// Empty what belongs to another file than the one that is chosen; results stay.
function emptied(another) {
  exact.empty();
  estimate.empty();
  by("emptied").textContent = another ? "All that was typed about the former file is emptied." : "";
  steps();
}

async function startAgain() {
  if (state.source) await ask("forget", { path: state.source }).catch(() => {});
  forgetAll();
  keep();
  await understood.take("");
  by("source").value = "";
  by("upload").value = "";
  emptied(false);
  go("data");
}

function changed(field) {
  if (state.step === "check") {
    if (field.role === "date") draw("check");
    understood.understandSoon();
    return;
  }
  if (field.role === "unit") exact.showCount();
  if (field.role === "budget") estimate.hidePrice();
  if (["store", "same_people"].includes(field.role)) accountSoon();
  if (state.step === "count" && state.values[field.key]) show(by(`f-${field.key}-note`), "", "");
  foreseeSoon();
}

async function arrive() {
  recall();
  if (location.hash.length > 1) {
    state.token = location.hash.slice(1);
    history.replaceState(null, "", "/");
  }
  keep();
  Object.assign(live, await ask("form"));
  by("confidence").textContent = live.confidence;
  live.steps.forEach((step, i) => { by(`title-${step.name}`).textContent = `${i + 1}. ${step.title}`; });
  state.values = { ...live.products[state.product].preset, ...state.values };
  by("source").value = state.source;
  onChange(changed);
  exact.onReach(go);
  exact.onStart(async (run) => { await result.follow(run); });
  understood.listen();
  understood.onCounted(() => exact.confirmation());
  understood.onEmptied(emptied);
  by("again").addEventListener("click", () => startAgain().catch(failed));
  exact.listen();
  estimate.listen();
  estimate.onUse(exact.foresee);
  account.listen();
  account.onChange(() => { estimate.hidePrice(); exact.foresee(); });
  exact.questions();
  result.listen(() => { if (state.step !== "result") go("result"); }, failed, exact.offerStep, go);
  by("guide").addEventListener("submit", (event) => next(event).catch(failed));
  by("back").addEventListener("click", () => go(live.steps[index(state.step) - 1].name));
  window.addEventListener("popstate", (event) => go(event.state?.step ?? "data", { recorded: false }));
  if (state.source) await understood.take(state.source);
  const step = state.step === "result" && !state.run ? "data" : state.step;
  history.replaceState({ step }, "", "/");
  go(step, { recorded: false });
  if (state.step === "result") result.follow(state.run).catch(failed);
  else await result.past();
  document.body.setAttribute("data-ready", "yes");
}

arrive().catch(failed);
