// The private estimate of how many rows people have: its price and its own confirmation.
import { element, show, small } from "/page/shared.js";
import * as account from "/web/account.js";
import { budgetText, refuse } from "/web/exact.js";
import { why } from "/web/result.js";
import { ask, by, live, put, role, state } from "/web/state.js";
import { shareText, skips } from "/web/understood.js";

let price = 0, foresee = () => {};
export const onUse = (work) => { foresee = work; };
const epsilonKey = () => role("epsilon").key;
const hide = (id) => by(id).classList.add("hidden");

const body = () => {
  const product = live.products.bound, own = new Set(product.fields.flatMap((field) => [field.key, ...Object.values(field.kinds ?? {}).flat().map((inner) => inner.key)]));
  const values = Object.fromEntries(Object.entries(state.values).filter(([key]) => own.has(key)));
  return { product: "bound", source: state.source, values: { ...values, ...product.preset, [epsilonKey()]: by("bound-price").value }, people: by("bound-people").value, separate: account.isSeparate() };
};

// What was said of an estimate is gone once something is typed that changes it.
export function hidePrice() {
  hide("bound-confirm");
  hide("bound-refusal");
  show(by("bound-state"), "", "");
}

async function priceOf() {
  hidePrice();
  if (stops()) return;
  if (account.asks(by("bound-state"))) return;
  const { epsilon, budget, estimate } = await ask("preview", body());
  if (budget.refusal) { refuse(by("bound-state"), { message: budget.refusal }); return; }
  price = epsilon;
  if (!estimate.sees) {
    const use = () => { by("bound-price").value = estimate.sufficient; by("bound-price").focus(); priceOf().catch(failed); };
    show(by("bound-state"), `${estimate.text} `);
    by("bound-state").append(element("button", { type: "button", text: `Let it use up ${small(estimate.sufficient)}`, onclick: use }));
    return;
  }
  const isFree = budget.total === null && !budget.is_fixed;
  const limits = isFree ? " Type a budget above: it can be set only before the first result, and this is one." : "";
  show(by("bound-state"), `${estimate.text} ${budgetText(budget)}${limits}`, limits ? "bad" : "");
  by("bound-confirm").textContent = `Spend ${small(epsilon)} on this estimate${isFree ? ", without a budget" : ""}`;
  by("bound-confirm").classList.remove("hidden");
}

// Whether the estimate would stop at a row that cannot be used; then the marked panel says so.
function stops() {
  if (!(live.eyes?.skipped > 0) || skips()) return false;
  const panel = by("bound-refusal");
  panel.classList.remove("hidden");
  panel.querySelector("p").textContent = shareText(live.eyes);
  const leave = () => { put(role("bad_rows").key, "skip"); hide("bound-refusal"); by("bound-ask").focus(); priceOf().catch(failed); };
  by("bound-mend").replaceChildren(...(live.eyes.share < 1 && !live.eyes.mend_first ? [element("button", { type: "button", text: live.eyes.skipped === 1 ? "Leave it out" : "Leave them out", onclick: leave })] : []));
  by("bound-mend").querySelector("button")?.focus();
  return true;
}

async function start() {
  hide("bound-confirm"); // the focus goes on to what is said of the run
  hide("bound-refusal");
  by("bound-mend").replaceChildren();
  show(by("bound-state"), "At work.", "");
  by("bound-state").setAttribute("tabindex", "-1");
  by("bound-state").focus();
  const { run } = await ask("start", { ...body(), confirmed: price });
  for (;;) {
    const status = await ask("run", { run });
    if (status.state !== "running") return done(run, status);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function done(run, status) {
  const rows = status.report?.max_contributions;
  await why("bound-refusal", run, status);
  if (!rows) show(by("bound-state"), [status.has_reasons ? "The estimate was refused, for the reason in the marked panel." : "", status.message].filter(Boolean).join(" "));
  await account.draw("count");
  if (!rows) return by("bound-state").focus();
  const field = role("most_rows");
  show(by("bound-state"), `${status.estimate} `, "good");
  by("bound-state").append(element("button", { type: "button", text: `Use ${rows}`, onclick: () => { put(field.key, rows); by(`f-${field.key}`).value = rows; by(`f-${field.key}`).focus(); foresee(); } }));
  by("bound-state").querySelector("button").focus();
}

const failed = (problem) => refuse(by("bound-state"), problem);

// Empty the fields, and what was said of a former file.
export function empty() {
  by("bound-price").value = live.products.bound.preset[epsilonKey()];
  by("bound-people").value = "";
  by("bound").open = false;
  hidePrice();
}

export function listen() {
  by("bound-price").value = live.products.bound.preset[epsilonKey()];
  for (const id of ["bound-price", "bound-people"]) by(id).addEventListener("input", hidePrice);
  by("bound-ask").addEventListener("click", () => priceOf().catch(failed));
  by("bound-confirm").addEventListener("click", () => start().catch(failed));
}
