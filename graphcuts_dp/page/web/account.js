// The account of the private file: its budget, and whether other accounts are about the same people.
import { element, show, small } from "/page/shared.js";
import { fieldElement } from "/web/fields.js";
import { byId, fieldOfRole, post, save, setValue, state, unsaved } from "/web/state.js";

let requestNumber = 0; // replies to earlier requests are ignored
let onChange = () => {};
export const setChangeListener = (listener) => { onChange = listener; };

const usedText = ({ used, total }) => (total === null ? `${small(used)} used up, no budget` : `${small(used)} of ${small(total)} used up`);

// A sentence on the spending of an account.
function stateText({ name, is_new, results, used, total, left }) {
  if (is_new) return `${name} is a new account: nothing is used up yet.`;
  const spending = `${results === 1 ? "1 result has" : `${results} results have`} used up ${small(used)}`;
  return `Account ${name}: ${spending}${total === null ? ", and there is no budget" : ` of ${small(total)}, so ${small(left)} is left`}.`;
}

// Asks the server which account would be charged.
export async function load() {
  if (!state.source) { unsaved.account = null; return; }
  const number = ++requestNumber;
  const account = await post("account", { values: state.values, source: state.source });
  if (number === requestNumber) unsaved.account = account;
}

// True until the curator has answered whether other accounts of the folder are about the same people.
export const isUnanswered = () => Boolean(unsaved.account?.charged.is_new && unsaved.account.others.length && !isSeparate());
export const isSeparate = () => Boolean(unsaved.account) && state.separateAccount === unsaved.account.of_file.name;

// Asks for that answer, if it is missing; returns false if it is not.
export function showQuestion(target) {
  if (!isUnanswered()) return false;
  show(target, "Say first whether the people of this file are also in another account.");
  byId("account-people").querySelector("input")?.focus();
  return true;
}

// Draws the account in a step, with the field of its budget.
export async function draw(step) {
  byId(`${step}-account`).append(byId("account"));
  const budget = fieldOfRole("budget");
  byId("account-budget").replaceChildren(...(budget ? [fieldElement(budget, false)] : []));
  await load();
  showAccount();
}

export function showAccount() {
  const account = unsaved.account;
  if (!account) return;
  const { of_file: accountOfFile, charged, others } = account;
  showBudget(charged);
  byId("account-name").textContent = `${charged.name === accountOfFile.name ? "" : "Shared with other data about the same people. "}${stateText(charged)}`;
  byId("account-own").classList.toggle("hidden", accountOfFile.is_new);
  byId("account-own").querySelector("p").textContent = `If this file is about other people than those of ${accountOfFile.name}, it needs an account of its own.`;
  byId("account-people").classList.toggle("hidden", !accountOfFile.is_new || !others.length);
  const answer = charged.name === accountOfFile.name ? (isSeparate() ? "" : null) : charged.name; // as in `answerPeople`
  const hadFocus = document.activeElement?.name === "account-people";
  const radioButton = (name, text) => element("label", {}, element("input", { type: "radio", name: "account-people", value: name, checked: name === answer, onchange: () => answerPeople(name) }), element("span", { text }));
  byId("account-answers").replaceChildren(...others.map((other) => radioButton(other.name, `Yes, use ${other.name} (${usedText(other)})`)), radioButton("", "No, these are other people"));
  if (hadFocus) byId("account-answers").querySelector("input:checked")?.focus();
}

// The budget of an account that exists cannot change: its field is disabled.
function showBudget({ is_new, total }) {
  const key = fieldOfRole("budget")?.key, field = byId(`f-${key}`);
  if (!field) return;
  field.disabled = !is_new;
  if (document.activeElement !== field) field.value = is_new ? state.values[key] ?? "" : total ?? "";
  const note = total === null ? "The first result of these data was made without a budget, so that none can be set any more." : `It was set to ${small(total)} with the first result of these data, and cannot be changed.`;
  show(byId(`f-${key}-note`), is_new ? "" : note, "");
}

// Stores the answer: the name of the account that is about the same people; "" if none is.
async function answerPeople(name) {
  setValue(fieldOfRole("same_people").key, name);
  state.separateAccount = name ? "" : unsaved.account.of_file.name;
  save();
  await update();
}

async function update() {
  await load();
  showAccount();
  onChange();
}

// Chooses a new account, since the account that is named after the file is about other people.
export async function chooseNewAccount() {
  setValue(fieldOfRole("store").key, unsaved.account.unused);
  state.separateAccount = unsaved.account.unused;
  save();
  await update();
  byId("account-name").focus();
}

// Shows the spending of the account of the file, if it exists, below the columns of the file.
export async function showFileAccount() {
  await load();
  const account = unsaved.account?.of_file;
  show(byId("known"), account && !account.is_new ? stateText(account) : "", account?.left === 0 ? "bad" : "");
}

export function listen() {
  byId("account-separate").addEventListener("click", chooseNewAccount);
}
