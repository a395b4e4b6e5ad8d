// The private estimate of how many rows people have: its price, its confirmation and its result.
import { element, show, small } from "/page/shared.js";
import * as account from "/web/account.js";
import { budgetText, showRefusal } from "/web/exact.js";
import { badRowsText, skipsBadRows } from "/web/private_file.js";
import { showReasons } from "/web/result.js";
import { byId, fieldOfRole, post, setValue, state, unsaved } from "/web/state.js";

let price = 0; // epsilon that the confirmation shows
let onUse = () => {};
export const setUseListener = (listener) => { onUse = listener; };
const epsilonKey = () => fieldOfRole("epsilon").key;
const hide = (id) => byId(id).classList.add("hidden");
const showProblem = (problem) => showRefusal(byId("bound-state"), problem);

// The request of the estimate, with those values of the form that its command has, too.
function requestBody() {
  const product = unsaved.products.bound;
  const innerKeys = (field) => Object.values(field.kinds ?? {}).flat().map((innerField) => innerField.key);
  const keys = new Set(product.fields.flatMap((field) => [field.key, ...innerKeys(field)]));
  const values = Object.fromEntries(Object.entries(state.values).filter(([key]) => keys.has(key)));
  return { product: "bound", source: state.source, values: { ...values, ...product.preset, [epsilonKey()]: byId("bound-price").value }, people: byId("bound-people").value, separate: account.isSeparate() };
}

// Hides the price, and the refusal, of an estimate with other values.
export function hidePrice() {
  hide("bound-confirm");
  hide("bound-refusal");
  show(byId("bound-state"), "", "");
}

// Shows the price of the estimate, with a button to confirm it, or what has to be changed first.
async function showPrice() {
  hidePrice();
  if (showBadRows()) return;
  if (account.showQuestion(byId("bound-state"))) return;
  const { epsilon, budget, estimate } = await post("preview", requestBody());
  if (budget.refusal) { showProblem({ message: budget.refusal }); return; }
  price = epsilon;
  if (!estimate.is_informative) {
    const useSufficient = () => { byId("bound-price").value = estimate.sufficient; byId("bound-price").focus(); showPrice().catch(showProblem); };
    show(byId("bound-state"), `${estimate.text} `);
    byId("bound-state").append(element("button", { type: "button", text: `Let it use up ${small(estimate.sufficient)}`, onclick: useSufficient }));
    return;
  }
  const isWithoutBudget = budget.total === null && !budget.is_fixed;
  const advice = isWithoutBudget ? " Type a budget above: it can be set only before the first result, and this is one." : "";
  show(byId("bound-state"), `${estimate.text} ${budgetText(budget)}${advice}`, advice ? "bad" : "");
  byId("bound-confirm").textContent = `Spend ${small(epsilon)} on this estimate${isWithoutBudget ? ", without a budget" : ""}`;
  byId("bound-confirm").classList.remove("hidden");
}

// Shows the bad rows at which the estimate would stop, in the marked panel; returns false if none.
function showBadRows() {
  if (!(unsaved.rowCounts?.skipped > 0) || skipsBadRows()) return false;
  const panel = byId("bound-refusal");
  panel.classList.remove("hidden");
  panel.querySelector("p").textContent = badRowsText(unsaved.rowCounts);
  const skip = () => { setValue(fieldOfRole("bad_rows").key, "skip"); hide("bound-refusal"); byId("bound-ask").focus(); showPrice().catch(showProblem); };
  byId("bound-mend").replaceChildren(...(unsaved.rowCounts.share < 1 && !unsaved.rowCounts.mend_first ? [element("button", { type: "button", text: unsaved.rowCounts.skipped === 1 ? "Leave it out" : "Leave them out", onclick: skip })] : []));
  byId("bound-mend").querySelector("button")?.focus();
  return true;
}

async function startEstimate() {
  hide("bound-confirm"); // it had the focus, which the state gets
  hide("bound-refusal");
  byId("bound-mend").replaceChildren();
  show(byId("bound-state"), "At work.", "");
  byId("bound-state").setAttribute("tabindex", "-1");
  byId("bound-state").focus();
  const { run } = await post("start", { ...requestBody(), confirmed: price });
  for (;;) {
    const status = await post("run", { run });
    if (status.state !== "running") return showEstimate(run, status);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function showEstimate(run, status) {
  const rows = status.report?.max_contributions;
  await showReasons("bound-refusal", run, status);
  if (!rows) show(byId("bound-state"), [status.has_reasons ? "The estimate was refused, for the reason in the marked panel." : "", status.message].filter(Boolean).join(" "));
  await account.draw("count");
  if (!rows) return byId("bound-state").focus();
  const { key } = fieldOfRole("most_rows");
  show(byId("bound-state"), `${status.estimate} `, "good");
  byId("bound-state").append(element("button", { type: "button", text: `Use ${rows}`, onclick: () => { setValue(key, rows); byId(`f-${key}`).value = rows; byId(`f-${key}`).focus(); onUse(); } }));
  byId("bound-state").querySelector("button").focus();
}

// Empties the fields for another private file.
export function empty() {
  byId("bound-price").value = unsaved.products.bound.preset[epsilonKey()];
  byId("bound-people").value = "";
  byId("bound").open = false;
  hidePrice();
}

export function listen() {
  byId("bound-price").value = unsaved.products.bound.preset[epsilonKey()];
  for (const id of ["bound-price", "bound-people"]) byId(id).addEventListener("input", hidePrice);
  byId("bound-ask").addEventListener("click", () => showPrice().catch(showProblem));
  byId("bound-confirm").addEventListener("click", () => startEstimate().catch(showProblem));
}
