"use strict";
// Pages for users come before decisions, changes and the reference of functions, which use every word.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    /^(adr\/|api\/|changelog|before-|decisions)/.test(docname) ? score - 20 : docname === "glossary" ? score + 20 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
