"use strict";
// A second verifier of certificates. It shares no code with the package `dpmosaic`: it is written as
// docs/specification/certificate.md and common.md say, needs nothing but the language, WebCrypto and files, and
// runs in a browser (verify.html) and in node: node verify.js CERTIFICATE.json [FEDERATION.json]
const verifier = (() => {
  // ---- Formats: one constant for each; a reader of another version refuses the file.
  const FORMAT = {
    certificate: "dpmosaic certificate 1",
    people: "dpmosaic certificate of people 1",
    card: "dpmosaic card 1",
    federation: "dpmosaic federation 1",
    terms: ["dpmosaic release terms", 1n],
    ledger: "dpmosaic ledger 1",
    signature: "dpmosaic signature 1",
  };
  const SAME = 1e-6; // relative difference up to which two computations of a number agree
  const SECOND_OPINION = 1e-3; // the same for epsilon by the privacy loss distribution, against the Gaussian one
  const CURATOR = "curator"; // the dealer that is the curator
  const LEAST_DELTA = 1e-18; // draws of noise are not exact enough for a smaller one

  class Refused extends Error {}
  const need = (holds, message) => {
    if (!holds) throw new Refused(message);
  };

  // ---- Bytes
  const utf8 = (text) => new TextEncoder().encode(text);
  const joined = (...parts) => {
    const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
    parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
    return whole;
  };
  const bigEndian = (value, size) => {
    const bytes = new Uint8Array(size);
    for (let i = size - 1, rest = BigInt(value); i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 255n);
    return bytes;
  };
  const sized = (bytes) => joined(bigEndian(bytes.length, 4), bytes);
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const unhex = (text) => {
    need(/^([0-9a-fA-F]{2})*$/.test(text), "expected hexadecimal digits");
    return Uint8Array.from(text.match(/../g) || [], (two) => parseInt(two, 16));
  };
  const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const sha256Hex = async (bytes) => hex(await sha256(bytes));

  // ---- JSON whose whole numbers (BigInt) and other numbers (Number) stay apart, and whose objects are Maps
  const parseJson = (text) => {
    let at = 0;
    const space = () => {
      while (" \t\n\r".includes(text[at] || "x")) at++;
    };
    const take = (expected) => {
      need(text.startsWith(expected, at), "not JSON");
      at += expected.length;
    };
    const string = () => {
      const found = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
      found.lastIndex = at;
      const match = found.exec(text);
      need(match, "not JSON");
      at = found.lastIndex;
      const value = JSON.parse(match[0]);
      need(!/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value), "text that is not UTF-8");
      return value;
    };
    const number = () => {
      const found = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
      found.lastIndex = at;
      const match = found.exec(text);
      need(match, "not JSON");
      at = found.lastIndex;
      if (match[2] === undefined && match[3] === undefined) {
        need(match[1].length <= 301, "a whole number of more than 300 digits");
        return BigInt(match[1]);
      }
      need(Number.isFinite(Number(match[0])), "a number that no double holds");
      return Number(match[0]);
    };
    const several = (end, one) => {
      at++;
      space();
      if (text[at] === end) return void at++;
      for (;;) {
        one();
        space();
        if (text[at] === end) return void at++;
        take(",");
        space();
      }
    };
    const value = (depth) => {
      need(depth <= 33, "lists and objects too deep inside each other");
      space();
      if (text[at] === "{") {
        const entries = new Map();
        several("}", () => {
          const name = string();
          need(!entries.has(name), "a name twice in one object");
          space();
          take(":");
          entries.set(name, value(depth + 1));
        });
        return entries;
      }
      if (text[at] === "[") {
        const items = [];
        several("]", () => items.push(value(depth + 1)));
        return items;
      }
      if (text[at] === '"') return string();
      for (const [name, constant] of [["true", true], ["false", false], ["null", null]])
        if (text.startsWith(name, at)) return take(name), constant;
      return number();
    };
    const whole = value(0);
    space();
    need(at === text.length, "not JSON");
    return whole;
  };
  const jsonOf = (bytes) => {
    need(bytes.length <= 1 << 25, "a file of more than 32 MiB");
    return parseJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  };

  // Texts as the certificate's digest has them: numbers with the fewest digits, the rest of ASCII escaped.
  const byCodePoint = (a, b) => {
    const [one, other] = [Array.from(a), Array.from(b)];
    const place = one.findIndex((letter, i) => letter !== other[i]);
    if (place < 0) return one.length - other.length;
    return place < other.length ? one[place].codePointAt(0) - other[place].codePointAt(0) : 1;
  };
  const real = (value) => {
    if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
    const [mantissa, power] = Math.abs(value).toExponential().split("e");
    const digits = mantissa.replace(".", "");
    const exponent = Number(power);
    let text;
    if (exponent < -4 || exponent >= 16) {
      const rest = digits.slice(1);
      const size = String(Math.abs(exponent)).padStart(2, "0");
      text = `${digits[0]}${rest && "."}${rest}e${exponent < 0 ? "-" : "+"}${size}`;
    } else if (exponent < 0) text = `0.${"0".repeat(-exponent - 1)}${digits}`;
    else {
      const padded = digits.padEnd(exponent + 1, "0");
      text = `${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
    }
    return value < 0 ? `-${text}` : text;
  };
  const SHORT = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b" };
  const quoted = (text) =>
    `"${text.replace(/["\\]|[^ -~]/g, (unit) => SHORT[unit] || `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
  const written = (value, between = ",", after = ":") => {
    const write = (one) => {
      if (one === null || typeof one === "boolean" || typeof one === "bigint") return String(one);
      if (typeof one === "number") return real(one);
      if (typeof one === "string") return quoted(one);
      if (Array.isArray(one)) return `[${one.map(write).join(between)}]`;
      const names = Array.from(one.keys()).sort(byCodePoint);
      return `{${names.map((name) => quoted(name) + after + write(one.get(name))).join(between)}}`;
    };
    return write(value);
  };

  // ---- Exact fractions [numerator, denominator], in lowest terms
  const gcd = (a, b) => {
    while (b) [a, b] = [b, a % b];
    return a < 0n ? -a : a;
  };
  const fraction = (n, d = 1n) => {
    const common = gcd(n, d) || 1n;
    return [n / common, d / common];
  };
  const plus = ([a, b], [c, d]) => fraction(a * d + c * b, b * d);
  const times = ([a, b], [c, d]) => fraction(a * c, b * d);
  const over = ([a, b], [c, d]) => times([a, b], c < 0n ? [-d, -c] : [d, c]);
  const less = ([a, b], [c, d]) => a * d < c * b;
  const equal = ([a, b], [c, d]) => a * d === c * b;
  const most = (all) => all.reduce((one, other) => (less(one, other) ? other : one));
  const sum = (all) => all.reduce(plus, [0n, 1n]);
  const exact = (value) => {
    if (typeof value === "bigint") return [value, 1n];
    let [n, power] = [value, 0n];
    while (!Number.isInteger(n)) [n, power] = [n * 2, power + 1n];
    return fraction(BigInt(n), 1n << power);
  };
  const bits = (n) => BigInt(n.toString(2).length);
  const rounded = ([n, d]) => {
    // The nearest double, to even: 64 bits of the quotient, with a last bit that stands for the rest.
    if (n === 0n) return 0;
    const shift = bits(d) - bits(n) + 64n;
    const [above, below] = shift >= 0n ? [n << shift, d] : [n, d << -shift];
    let quotient = above / below;
    const extra = bits(quotient) - 53n;
    const half = 1n << (extra - 1n);
    const rest = quotient & ((1n << extra) - 1n);
    quotient >>= extra;
    if (rest > half || (rest === half && (above % below !== 0n || quotient & 1n))) quotient += 1n;
    return Number(quotient) * 2 ** Number(extra - shift);
  };
  const fractionOf = (text) => {
    need(/^[0-9]{1,4000}(\/[1-9][0-9]{0,3999})?$/.test(text), "expected a fraction");
    const [n, d] = text.split("/");
    return fraction(BigInt(n), BigInt(d || 1));
  };
  const fractionText = ([n, d]) => (d === 1n ? `${n}` : `${n}/${d}`);

  // ---- Kinds of values of a certificate: each reads JSON and writes the JSON of the digest
  const kind = (read, write = (value) => value) => ({ read, write });
  const of = (name, holds) =>
    kind((form, where) => (need(holds(form), `${where}: expected ${name}`), form));
  const text = of("a text", (form) => typeof form === "string");
  const flag = of("true or false", (form) => typeof form === "boolean");
  const whole = of("a whole number", (form) => typeof form === "bigint");
  const number = of("a number", (form) => typeof form === "bigint" || typeof form === "number");
  const any = kind((form) => form);
  const oneOf = (...names) => of(`one of ${names.join(", ")}`, (form) => names.includes(form));
  const bytes = kind((form, where) => {
    need(typeof form === "string", `${where}: expected hexadecimal digits`);
    return unhex(form.replace(/[ \t\n\r\f\v]/g, ""));
  }, hex);
  const exactly = kind((form, where) => {
    need(typeof form === "string", `${where}: expected a fraction`);
    return fractionOf(form);
  }, fractionText);
  const listOf = (one) =>
    kind(
      (form, where) => {
        need(Array.isArray(form), `${where}: expected a list`);
        return form.map((entry, place) => one.read(entry, `${where}[${place}]`));
      },
      (values) => values.map(one.write),
    );
  const mapOf = (one) =>
    kind(
      (form, where) => {
        need(form instanceof Map, `${where}: expected names and values`);
        return new Map(Array.from(form, ([name, entry]) => [name, one.read(entry, `${where}.${name}`)]));
      },
      (values) => new Map(Array.from(values, ([name, value]) => [name, one.write(value)])),
    );
  const orNull = (one) =>
    kind(
      (form, where) => (form === null ? null : one.read(form, where)),
      (value) => (value === null ? null : one.write(value)),
    );
  // A field [kind, value] is left out of the JSON if it has this value.
  const same = (a, b) => {
    if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => same(one, b[i]));
    return a === b || (typeof a !== typeof b && Number(a) === b && typeof a === "bigint");
  };
  const record = (fields, check = () => {}) =>
    kind(
      (form, where) => {
        need(form instanceof Map, `${where}: expected names and values`);
        for (const name of form.keys()) need(Object.hasOwn(fields, name), `${where} has an unknown key`);
        const value = {};
        for (const [name, stated] of Object.entries(fields)) {
          const optional = Array.isArray(stated);
          need(optional || form.has(name), `${where} lacks ${name}`);
          const one = optional ? stated[0] : stated;
          value[name] = form.has(name) ? one.read(form.get(name), `${where}.${name}`) : stated[1];
        }
        check(value, where);
        return value;
      },
      (value) => {
        const form = new Map();
        for (const [name, stated] of Object.entries(fields)) {
          const optional = Array.isArray(stated);
          if (optional && same(value[name], stated[1])) continue;
          form.set(name, (optional ? stated[0] : stated).write(value[name]));
        }
        return form;
      },
    );

  const letters = (value) => Array.from(value).length;
  const isDay = (day) => {
    const parsed = new Date(`${day}T00:00:00Z`);
    return /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(day) && !day.startsWith("0000") && !Number.isNaN(+parsed) && parsed.toISOString().startsWith(day);
  };
  const isDistinct = (names) => new Set(names).size === names.length;
  const ADJACENCIES = ["zero-out", "replace-one", "add-remove"];
  const KINDS = ["marginal", "interaction", "scores", "labels", "alignment", "other"];
  const UNSTATED = Symbol("unstated");
  const clique = listOf(text);

  const checkAbout = (about) => {
    need(letters(about.purpose) <= 2000 && letters(about.contact) <= 2000, "purpose and contact are too long");
    for (const day of [about.asked, about.until]) need(!day || isDay(day), "a day is written as YYYY-MM-DD");
  };
  const checkBudget = ({ epsilon, delta, zcdp_rho: rho }) => {
    need((epsilon === null) !== (rho === null), "expected either epsilon or rho");
    for (const one of [epsilon, rho]) need(one === null || one > 0, "expected a positive budget");
    need(epsilon === null || delta !== null, "expected delta beside epsilon");
    need(delta === null || (delta >= LEAST_DELTA && delta < 1), "expected a delta in (0, 1), at least 1e-18");
  };
  const checkSpec = (spec) => {
    need(spec.rows === null || spec.rows >= 1n, "expected at least one row");
    need(spec.rows_per_person >= 0n && spec.protocol, "expected a protocol, and rows of a person");
  };
  const checkAlignment = ({ people, zcdp_rho: rho, match_keys: keys }) => {
    need(people.length && people.every((one) => Number.isInteger(Math.log2(one.length + 1))), "people of other patterns");
    need(rho[0] > 0n && keys >= 1n, "expected a positive rho, and match keys");
  };
  const checkSearch = ({ attributes, delta }) => {
    need(attributes.length && isDistinct(attributes), "a search names attributes, each once");
    need(delta > 0 && delta <= 0.1, "the delta of labels is above 0 and at most 0.1");
  };
  const About = record({ purpose: text, contact: text, asked: text, until: text }, checkAbout);
  const Budget = record({ epsilon: orNull(number), delta: orNull(number), zcdp_rho: orNull(number) }, checkBudget);
  const Spec = record(
    {
      budget: Budget, adjacency: oneOf(...ADJACENCIES), protocol: text, collusions: orNull(whole), check: text,
      sample: orNull(whole), rows: orNull(whole), rows_per_person: whole, about: About,
    },
    checkSpec,
  );
  const Search = record({ attributes: clique, delta: number }, checkSearch);
  const StatedAlignment = record(
    {
      alignment_id: text, population: oneOf("everywhere", "anywhere"), people: listOf(listOf(whole)), sigma: number,
      zcdp_rho: exactly, match_keys: whole,
    },
    checkAlignment,
  );
  const StatedBins = record({
    release_id: text, certificate: text, zcdp_rho: number, attributes: clique, labels_delta: [number, 0],
  });
  const Unseen = record({ name: text, usual: whole, moved: number, below: number, above: number }, (one) =>
    need(one.usual >= 0n && [one.moved, one.below, one.above].every((limit) => limit >= 0), "expected numbers of records"),
  );
  const Plan = record(
    {
      spec: Spec, attributes: mapOf(whole), domain_digest: text, record_counts: listOf(whole),
      parties: listOf(listOf(clique)), privacy_unit: text, mechanism: mapOf(any),
      workload: listOf(record({ clique, weight: number })),
      steps: [listOf(record({ name: text, title: text, share: number })), []],
      names: [listOf(listOf(text)), []], dealers: [listOf(text), []], evaluators: [listOf(text), []],
      collusion: [text, ""], alignment: [orNull(StatedAlignment), null], unreviewed: [clique, []],
      bins: [orNull(StatedBins), null], labels: [orNull(Search), null], records_sigma: [number, 0],
      unseen: [listOf(Unseen), []], prior: [text, ""],
    },
    (plan) => {
      need(typeof plan.mechanism.get("name") === "string", "expected the name of the mechanism");
      need(plan.record_counts.length === plan.parties.length, "expected the records and parties of each slice");
      need(!plan.alignment || plan.alignment.people.length === plan.parties.length, "expected the people of each slice");
    },
  );
  const Promise_ = record(
    {
      epsilon: orNull(number), delta: orNull(number), zcdp_rho_granted: number, zcdp_rho_spent: number,
      spent_within_grant: flag, zcdp_rho_really_spent: number, epsilon_really_spent: [orNull(number), null],
      epsilon_by_privacy_loss_distribution: [orNull(number), UNSTATED], composition: [orNull(mapOf(any)), null],
      observers: [listOf(record({ who: text, assumes: text, zcdp_rho: number, epsilon: orNull(number) })), []],
      zcdp_rho_with_alignment: [orNull(number), null], epsilon_with_alignment: [orNull(number), null],
      zcdp_rho_with_bins: [orNull(number), null], epsilon_with_bins: [orNull(number), null],
    },
    (promise) => need(promise.zcdp_rho_granted > 0, "expected a grant above 0"),
  );
  const Sampled = record({ rate: number, multiplier: number, steps: whole });
  const Exponential = record({ step_epsilon: number, steps: whole, sections: whole });
  const Steps = kind(
    (form, where) => (form instanceof Map && form.has("step_epsilon") ? Exponential : Sampled).read(form, where),
    (value) => ("step_epsilon" in value ? Exponential : Sampled).write(value),
  );
  const Charge = record({
    step: text, clique, kind: oneOf(...KINDS), zcdp_rho: number, noise_sigmas_by_slice: listOf(listOf(number)),
    steps: [orNull(Steps), null], groups: [listOf(whole), []],
  });
  const Measurement = record({ clique, interaction: flag, sigma: number, zcdp_rho: number, groups: [listOf(whole), []] });
  const Round = record({ clique, sigma: number, zcdp_rho: number, learned: number, annealed: flag, model_mb: number });
  const Bound = record({ clique, l1: number, total_variation: number, confidence: number, selected: flag });
  const Entry = record(
    {
      query_id: text, query: bytes, kind: oneOf(...KINDS), clique, groups: listOf(whole), zcdp_rho: exactly,
      delta: exactly, signature: bytes,
    },
    ({ kind: what, delta }) => {
      need(what !== "other" && less(delta, [1n, 1n]), "parties charge queries of known kinds, with a delta below 1");
      need(delta[0] > 0n === (what === "labels"), "labels have a delta above 0, and nothing else has one");
    },
  );
  const Mark = record({ events: whole, head: bytes }, ({ events, head }) =>
    need(events >= 0n && events < 1n << 63n && head.length === 32, "a mark is a number and a head of 32 bytes"),
  );
  const Said = record({ name: text, entries: listOf(Entry), signature: bytes, mark: Mark });
  const Signatures = record({ terms: bytes, curator_signature: bytes, parties: listOf(Said), dealers: [listOf(Said), []] });
  const CERTIFICATE = {
    differentially_private: flag, labels: listOf(text), created: text, versions: mapOf(text), plan: Plan,
    promise: Promise_, steps: mapOf(number), charges: listOf(Charge), measurements: listOf(Measurement),
    selected_by: text, rounds: listOf(Round), error_bounds: listOf(Bound),
    model: record({ cliques: listOf(clique), size_mb: number }), outputs: mapOf(text),
    signed: [orNull(Signatures), null],
  };
  const Certificate = record(CERTIFICATE, (made) => {
    need(made.versions.has("dpmosaic"), "expected the version of dpmosaic");
    const parts = [made.measurements, made.error_bounds, made.charges, made.rounds, made.plan.workload];
    const named = [...made.model.cliques, ...parts.flat().map((one) => one.clique)].flat();
    need(named.every((name) => made.plan.attributes.has(name)), "expected marginals of the plan's attributes");
  });
  const Lifetime = record(
    {
      releases: whole, number: whole, release_id: text, until: text, settings: text, table: text, earlier: [text, ""],
      zcdp_rho_earlier: [exactly, [0n, 1n]], table_bytes: [whole, 0],
    },
    ({ releases, number, earlier }) => {
      need(number >= 1 && number <= releases, "a release is one of those that share its promise");
      need(number > 1 === (earlier !== ""), "each release but the first continues another");
    },
  );
  const PeopleCertificate = record({
    differentially_private: flag, labels: listOf(text), budget: Budget, adjacency: text, privacy_unit: text,
    parts: listOf(record({ table: text, of: text, certificate: text, zcdp_rho: exactly, labels_delta: number })),
    zcdp_rho_spent: exactly, epsilon_spent: orNull(number), outputs: mapOf(text), lifetime: [orNull(Lifetime), null],
  });
  const readPeople = (form) => {
    need(form instanceof Map && form.get("format") === FORMAT.people, `expected a file of the format ${FORMAT.people}`);
    const content = new Map(form);
    content.delete("format");
    return PeopleCertificate.read(content, "certificate");
  };

  const readCertificate = (form) => {
    need(form instanceof Map && form.get("format") === FORMAT.certificate, `expected a file of the format ${FORMAT.certificate}`);
    const content = new Map(form);
    content.delete("format");
    const spec = content.get("plan") instanceof Map && content.get("plan").get("spec");
    const dropping = spec instanceof Map && spec.has("may_drop_out");
    need(!dropping, "a release whose parties may drop out is not verified here; use dpmosaic curator verify");
    return Certificate.read(content, "certificate");
  };
  const digestOf = (certificate, outputs = certificate.outputs) => {
    const form = Certificate.write({ ...certificate, outputs });
    form.delete("signed");
    form.set("format", FORMAT.certificate);
    return sha256(utf8(written(form)));
  };

  // ---- Canonical bytes of terms
  const reader = (data) => {
    let at = 0;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const take = (size) => {
      need(at + size <= data.length, "fewer bytes than stated");
      return data.subarray(at, (at += size));
    };
    const tag = (expected) => need(take(1)[0] === expected, "another field");
    const length = (expected) => {
      tag(expected);
      const found = view.getUint32((take(4), at - 4));
      need(found <= data.length - at, "a length beyond the end");
      return found;
    };
    const found = {
      text: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(take(length(1))),
      octets: () => take(length(2)),
      flag: () => {
        tag(5);
        const value = take(1)[0];
        need(value <= 1, "a flag that is neither 0 nor 1");
        return value === 1;
      },
      integer: () => (tag(3), view.getBigUint64((take(8), at - 8))),
      real: () => {
        tag(4);
        const value = view.getFloat64((take(8), at - 8));
        need(Number.isFinite(value) && !Object.is(value, -0), "a number without a canonical form");
        return value;
      },
      items: (one) => Array.from({ length: length(6) }, () => one()),
      optional: (one) => {
        const values = found.items(one);
        need(values.length <= 1, "several values in place of one or none");
        return values.length ? values[0] : null;
      },
      digits: (pattern, of_) => {
        const written_ = found.text();
        need(pattern.test(written_), "a number in another form");
        const value = of_(written_);
        need(written_ === (Array.isArray(value) ? fractionText(value) : `${value}`), "a number in another form");
        return value;
      },
      byName: (one) => {
        const entries = found.items(() => [found.text(), one()]);
        const names = entries.map(([name]) => name);
        need(names.every((name, i) => i === 0 || byCodePoint(names[i - 1], name) < 0), "names in another order");
        return new Map(entries);
      },
      end: () => need(at === data.length, "bytes after the end"),
    };
    return found;
  };
  const readTerms = (data) => {
    const from = reader(data);
    const [names, rho] = [() => from.items(from.text), () => from.digits(/^[0-9]{1,400}(\/[1-9][0-9]{0,399})?$/, fractionOf)];
    need(from.text() === FORMAT.terms[0] && from.integer() === FORMAT.terms[1], "terms of another version");
    const terms = { release_id: from.text(), protocol_version: from.integer() };
    const budget = { epsilon: from.optional(from.real), delta: from.optional(from.real), zcdp_rho: from.optional(from.real) };
    terms.spec = {
      budget, adjacency: from.text(), protocol: from.text(), collusions: from.optional(from.integer), check: from.text(),
      sample: from.optional(from.integer), rows: from.optional(from.integer), rows_per_person: from.integer(),
      about: { purpose: from.text(), contact: from.text(), asked: from.text(), until: from.text() },
    };
    terms.granted_rho = from.real();
    const form = from.integer();
    need(form === 0n || form === 1n, "terms of something else than a release of a table");
    terms.plan = {
      masked: form === 1n,
      attributes: from.items(() => [from.text(), from.integer()]),
      roster: from.items(() => ({
        name: from.text(), slice: from.integer(), attributes: names(), record_count: from.integer(), identity: from.octets(),
      })),
      alignment: from.optional(() => ({
        alignment_id: from.text(), population: from.text(),
        people: from.items(() => from.items(() => from.digits(/^-?[0-9]{1,19}$/, BigInt))),
        zcdp_rho: rho(), match_keys: from.integer(),
      })),
      chosen: from.optional(() => ({
        release_id: from.text(), certificate: from.text(), zcdp_rho: from.real(),
        runs: from.byName(() => from.items(from.integer)), labels: from.byName(names), labels_delta: from.real(),
      })),
      related: from.optional(() => ({
        whole: from.text(), zcdp_rho: from.real(), left_rho: from.real(), table: from.text(),
        relations: from.items(() => ({ table: from.text(), parent: from.text(), order: from.text(), evened: from.integer() })),
        columns: from.items(() => ({
          name: from.text(), table: from.text(), way: from.text(), source: from.text(), before: from.flag(),
          groups: from.items(from.integer), starts: from.items(from.integer),
        })),
        codings: from.byName(() => [from.byName(() => from.items(from.integer)), from.byName(names)]),
      })),
      tolerated: 0n, evaluators: [], dealers: [], check: "", sample: 0n,
    };
    if (form === 1n)
      Object.assign(terms.plan, {
        tolerated: from.integer(), bits: from.integer(), evaluators: from.items(from.integer),
        dealers: from.items(() => ({ name: from.text(), identity: from.octets() })), check: from.text(), sample: from.integer(),
      });
    terms.purpose = {
      domain_digest: from.text(), mechanism: from.text(), workload: from.text(), workload_digest: from.text(),
      labels: from.optional(() => ({ attributes: names(), delta: from.real() })),
      max_cells: from.optional(from.integer), max_attributes: from.optional(from.integer), unreviewed: names(),
    };
    from.end();
    checkTerms(terms);
    return terms;
  };

  // What a plan of terms says of its slices, participants and dealers.
  const slicesOf = (plan) => {
    const slices = [];
    for (const entry of plan.roster) (slices[Number(entry.slice)] ||= []).push(entry);
    return slices;
  };
  const participantsOf = (plan) => {
    const parties = new Set(plan.roster.map((entry) => entry.name));
    return [...plan.roster, ...plan.dealers.filter((dealer) => !parties.has(dealer.name))];
  };
  const wanted = (plan) => (plan.dealers.length >= 3 ? 3 : 1);
  const dealersOf = (plan, slice) => {
    const own = new Set(slice.map((entry) => entry.name));
    return plan.dealers.filter((dealer) => !own.has(dealer.name)).slice(0, wanted(plan));
  };
  const checkTerms = ({ release_id: id, spec, granted_rho: granted, plan, purpose }) => {
    need(/^[0-9a-f]{32}$/.test(id) && granted > 0, "expected an id of 32 digits, and a positive grant");
    checkBudget(spec.budget);
    checkSpec(spec);
    checkAbout(spec.about);
    need(ADJACENCIES.includes(spec.adjacency), "an unknown adjacency");
    need(plan.masked === (spec.protocol === "masked") && spec.protocol !== "alignment", "a plan of another protocol");
    checkPartition(plan);
    if (plan.masked) checkMasked(plan, spec.rows_per_person === 0n);
    const [collusions, check, sample] = plan.masked ? [plan.tolerated, plan.check, plan.sample || null] : [null, "", null];
    need(spec.collusions === collusions && spec.check === check && spec.sample === sample, "other options than those of the plan");
    need(isDistinct(participantsOf(plan).map((one) => hex(one.identity))), "two participants with one identity");
    const named = plan.attributes.map(([name]) => name);
    need(same(purpose.unreviewed, named.filter((name) => purpose.unreviewed.includes(name))), "unreviewed attributes in another order");
    need(purpose.max_attributes === null || purpose.max_attributes >= 1n, "fewer than one attribute");
    if (purpose.labels) checkSearch(purpose.labels);
    if (spec.rows_per_person === 0n) {
      need(!purpose.labels, "people with all rows have no labels");
      const alone = plan.roster.length === slicesOf(plan).length;
      need(["masked", "trusted"].includes(spec.protocol) || (spec.protocol === "indicator" && alone), "a protocol that does not count people");
    }
    if (plan.related) {
      checkRelated(plan.related);
      need(spec.rows_per_person === 0n && plan.related.left_rho >= granted, "a part that counts no people, or costs more than is left");
    }
  };
  // A part of a release of related tables: columns of its records are of a row, or of rows that belong to one.
  const checkRelated = ({ whole: id, zcdp_rho: rho, left_rho: left, table, relations, columns }) => {
    need(/^[0-9a-f]{32}$/.test(id) && left > 0 && left <= rho, "a part of no whole, or of another cost than the whole");
    const parents = new Map();
    relations.forEach((one, place) => {
      const known = place ? parents.has(one.parent) : one.parent === "";
      need(known && !parents.has(one.table) && one.evened >= 1n && one.evened <= 1n << 20n, "tables that are no tree");
      parents.set(one.table, one.parent);
    });
    need(parents.has(table), "records of none of the tables");
    const above = [table];
    while (parents.get(above.at(-1))) above.push(parents.get(above.at(-1)));
    const summaries = ["any", "count", "time", "first row", "last row"];
    for (const one of columns) {
      need(["code", "number", "first", "span", "step", "series", ...summaries].includes(one.way), "a column that follows in an unknown way");
      const holder = ["number", "first", "span"].includes(one.way) ? parents.get(one.source) : one.table;
      const row = summaries.includes(one.way) ? parents.get(one.table) : one.table;
      need(above.includes(row) && holder === one.table && !(one.before && row !== table), "a column that the records do not have");
      const rising = one.starts.every((start, i) => (i ? start > one.starts[i - 1] : start === 0n));
      need(["number", "count", "time"].includes(one.way) === one.starts.length > 0 && rising, "numbers of rows in no order");
      const groups = new Set(one.groups);
      need(!groups.size || one.groups.every((group) => group < groups.size), "groups that are of no code");
      need(one.way !== "series" || one.before, "a series of the row, not of the row before");
    }
    need(columns.filter((one) => one.way === "series").length <= 1, "two columns that say which rows are one series");
  };
  const checkPartition = (plan) => {
    const named = plan.attributes.map(([name]) => name);
    need(named.length && named.length <= 1 << 16 && isDistinct(named), "expected attributes, each once");
    for (const [name, size] of plan.attributes)
      need(name && letters(name) <= 1000 && size >= 1n && size <= 1n << 24n, "an attribute of too many codes, or a long name");
    const numbers = plan.roster.map((entry) => entry.slice);
    need(numbers.length && numbers.every((one, i) => one === (i ? numbers[i - 1] : 0n) || (i && one === numbers[i - 1] + 1n)), "parties in another order than that of slices");
    need(isDistinct(plan.roster.map((entry) => entry.name)), "two parties of one name");
    const slices = slicesOf(plan);
    for (const slice of slices) {
      const held = slice.flatMap((entry) => entry.attributes);
      need(held.length === named.length && isDistinct(held) && held.every((name) => named.includes(name)), "a slice that does not hold every attribute once");
      for (const { attributes } of slice)
        need(same(attributes, named.filter((name) => attributes.includes(name))), "attributes in another order");
      need(slice.every((entry) => entry.record_count === slice[0].record_count), "different numbers of records in a slice");
    }
    if (plan.alignment) {
      checkAlignment(plan.alignment);
      need(["everywhere", "anywhere"].includes(plan.alignment.population), "an unknown population");
      const patterns = plan.alignment.people.map((one) => one.length);
      need(same(patterns, slices.map((slice) => 2 ** slice.length - 1)), "an alignment of other parties");
    }
    if (plan.chosen) {
      const { release_id: id, certificate, zcdp_rho: rho, runs, labels, labels_delta: delta } = plan.chosen;
      need(/^[0-9a-f]{32}$/.test(id) && /^[0-9a-f]{64}$/.test(certificate) && rho > 0, "chosen codes of no release");
      const unlike = delta > 0 !== labels.size > 0;
      need(delta >= 0 && delta < 1 && !((runs.size || labels.size) && unlike), "chosen labels without their delta");
    }
  };
  const checkMasked = (plan, people) => {
    const [slices, names] = [slicesOf(plan), plan.dealers.map((dealer) => dealer.name)];
    const parties = new Map(plan.roster.map((entry) => [entry.name, entry]));
    need(isDistinct(names) && names.length !== 2, "expected one dealer, or three or more");
    const reading = wanted(plan) === 1 ? 1n : 2n;
    for (const slice of slices.filter((one) => one.length > 1)) {
      const dealing = dealersOf(plan, slice).map((dealer) => dealer.name);
      need(dealing.length === wanted(plan), "a slice without dealers that are no parties of it");
      const inside = BigInt(dealing.filter((name) => parties.has(name)).length);
      need(!(plan.tolerated > reading && inside >= reading), "more collusions than dealers that are parties allow");
    }
    for (const { name, identity } of plan.dealers)
      need(!parties.has(name) || hex(parties.get(name).identity) === hex(identity), "a dealer with another identity than the party");
    need([32n, 64n].includes(plan.bits) && ["", "one-hot"].includes(plan.check), "an unknown ring or check");
    const multiplied = slices.filter((slice) => slice.length > 1).map((slice) => slice[0].record_count);
    need(!plan.sample || multiplied.some((records) => plan.sample < records), "a sample of more rows than a slice has");
    const { evaluators } = plan;
    if (evaluators.length) {
      const fits = evaluators[0] < participantsOf(plan).length && evaluators.slice(1).every((one) => one < plan.roster.length);
      need(evaluators.length === 3 && isDistinct(evaluators) && fits && plan.tolerated <= 1n, "expected three evaluators, and at most one collusion");
    }
    need(plan.tolerated < plan.roster.length, "no honest party is left");
    if (people) {
      const fits = !plan.sample && (!plan.alignment || plan.alignment.population === "everywhere");
      need(fits && slices.every((slice) => slice.length <= 4), "a plan that people with all rows do not have");
      need(!plan.check || slices.length === plan.roster.length, "a check that people with all rows do not have");
    }
  };

  // Whom it takes trusting, in words.
  const called = (name) => (name === CURATOR ? "the curator" : name);
  const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);
  const dealingNames = (plan) => {
    const dealing = new Set(slicesOf(plan).filter((slice) => slice.length > 1).flatMap((slice) => dealersOf(plan, slice).map((one) => one.name)));
    return participantsOf(plan).map((one) => one.name).filter((name) => dealing.has(name)).map(called);
  };
  const evaluatorNames = (plan) => plan.evaluators.map((place) => participantsOf(plan)[Number(place)].name);
  const curatorDeals = (plan) => same(plan.dealers.map((dealer) => dealer.name), [CURATOR]);
  const whoMustCollude = (plan) => {
    const [dealers, clauses] = [dealingNames(plan), []];
    if (dealers.length) {
      const some = plan.dealers.length > 1 ? `two of ${listed(dealers)}` : dealers.join(" or ");
      const deals = curatorDeals(plan) ? ", which deals itself, for trials," : "";
      clauses.push(`${some}${deals} together with a party of a slice could read the records of its other parties`);
    }
    if (plan.evaluators.length)
      clauses.push(`two of the evaluators ${listed(evaluatorNames(plan).map(called))} together could read every marginal that is scored`);
    if (!clauses.length) return "Nobody deals masks or evaluates scores: those who collude see only answers with noise.";
    const sentence = clauses.join("; ");
    return `${sentence[0].toUpperCase()}${sentence.slice(1)}.`;
  };
  const assumed = (plan) => {
    const [dealers, clauses] = [dealingNames(plan), []];
    const outside = plan.evaluators.length && plan.evaluators[0] >= plan.roster.length ? called(evaluatorNames(plan)[0]) : "";
    if (dealers.length && plan.dealers.length > 1) {
      clauses.push(`of ${listed(dealers)}, who deal, no two collude with a party of the record's slice`);
      if (outside) clauses.push(`${outside} does not collude with an evaluator of scores`);
    } else if (dealers.length || outside) {
      const one = (dealers.length ? dealers : [outside]).join(" or ");
      const nor = outside ? ", nor with an evaluator of scores" : "";
      clauses.push(`${one} does not collude with a party of the record's slice${nor}`);
    }
    return clauses.join("; ");
  };
  const observersOf = (plan) => {
    const [count, tolerated] = [plan.roster.length, Number(plan.tolerated)];
    const [factor, dealing] = [Math.sqrt(count / (count - tolerated)), assumed(plan)];
    const found = [
      { who: "the public", assumes: "every party adds its noise", factor },
      { who: "the curator", assumes: dealing || "every party adds its noise", factor },
    ];
    if (tolerated)
      found.push({
        who: `up to ${tolerated} of the ${count} parties together, with the public's view`,
        assumes: [`at most ${tolerated} of the parties collude`, dealing].filter(Boolean).join("; "),
        factor: 1,
      });
    return found;
  };

  // ---- Accounting: zCDP costs as multiples of 2^-64, rounded up; Gaussian differential privacy
  const UNIT = 1n << 64n;
  const unitOf = ({ adjacency, rows_per_person: rows }) => ({ adjacency, rows, multiple: rows > 1n ? rows : 1n });
  const unitInWords = ({ rows }, slices) => {
    const rest = " A person with rows in several slices is protected by the sum over these slices.";
    if (rows === 0n)
      return (
        "One record is one person with all rows in all tables. Each row counts in part, and the parts of a person " +
        "together count as one record at most, so the promise is for the person, whatever the number of rows." +
        (slices > 1 ? rest : "")
      );
    if (rows === 1n)
      return (
        "One record is one row of one slice. The promise is for one record: a person with several rows, or with rows " +
        "in several slices, is protected by the sum over these rows."
      );
    return `One record is one row of one slice. The promise is for a person with up to ${rows} rows of one slice; the parties left out further rows.${rest}`;
  };
  // Certificates of version 0.1.0 say of the parts of a person that they add up to at most one.
  const isUnit = (said, words) => [words, words.replace("together count as one record at most", "add up to at most one")].includes(said);
  const gridOf = (sigma) => {
    need(sigma >= 2 ** -20 && sigma <= 2 ** 40, "noise of a scale that costs cannot be computed for");
    let grid = 1;
    while (grid < 256 / sigma) grid *= 2;
    return BigInt(grid);
  };
  const costOf = (sigma, squared) => {
    const variance = plus(times(exact(sigma), exact(sigma)), fraction(-5n, 2n * gridOf(Number(sigma)) ** 2n));
    const [n, d] = over(squared, times([2n, 1n], variance));
    return fraction((n * UNIT + d - 1n) / d, UNIT);
  };
  const changedOf = (unit) => (unit.adjacency === "replace-one" ? 2n : 1n);
  const marginalCost = (sigma, unit, shape) => {
    const squares = [unit.multiple ** 2n, 1n];
    if (!shape.length) return costOf(sigma, times(squares, [changedOf(unit), 1n]));
    need(shape.every((n) => n >= 2n && n <= 1n << 14n) && shape.reduce((a, n) => a * n, 1n) <= 1n << 40n, "an interaction of another shape than costs are for");
    let squared = shape.reduce((product, n) => times(product, [n - 1n, n]), [1n, 1n]);
    if (unit.adjacency === "replace-one") {
      const least = shape.reduce((a, n) => (n < a ? n : a));
      squared = over(times([2n, 1n], squared), [least - 1n, least]);
    }
    return costOf(sigma, times(squares, squared));
  };
  const scoreCost = (sigma, unit, count) =>
    times([BigInt(count), 1n], costOf(sigma, [unit.multiple ** 2n * changedOf(unit) ** 2n, 1n]));

  const erfc = (x) => {
    if (x < 0) return 2 - erfc(-x);
    if (x < 2.5) {
      // erf by its series with positive terms: 2 x exp(-x^2) / sqrt(pi) sum (2 x^2)^n / (1 3 5 ..).
      let [term, total] = [x, x];
      for (let n = 1; term > total * 1e-18; n++) total += term *= (2 * x * x) / (2 * n + 1);
      return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total;
    }
    // The continued fraction of Laplace, from its end.
    let rest = x;
    for (let n = 200; n > 0; n--) rest = x + n / 2 / rest;
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / rest;
  };
  const normal = (x) => erfc(-x / Math.SQRT2) / 2;
  const gaussianDelta = (mu, epsilon) => {
    const [upper, lower] = [normal(mu / 2 - epsilon / mu), normal(-mu / 2 - epsilon / mu)];
    return upper - (lower < 2 ** -1022 ? 0 : Math.exp(epsilon + Math.log(lower))); // smaller ones have few digits
  };
  const zcdpDelta = (rho, epsilon) => {
    const logDelta = (logExcess) => {
      const excess = Math.exp(logExcess);
      const alpha = 1 + excess;
      return excess * (alpha * rho - epsilon) - logExcess + alpha * Math.log1p(-1 / alpha);
    };
    let [low, high] = [-40, 40];
    const third = (Math.sqrt(5) - 1) / 2;
    for (let n = 0; n < 200; n++) {
      const [left, right] = [high - third * (high - low), low + third * (high - low)];
      if (logDelta(left) < logDelta(right)) high = right;
      else low = left;
    }
    return Math.exp(Math.min(0, logDelta((low + high) / 2)));
  };
  const largest = (holds) => {
    let [low, high] = [1e-300, 1e12];
    for (let n = 0; n < 80; n++) {
      const middle = Math.sqrt(low) * Math.sqrt(high);
      if (holds(middle)) low = middle;
      else high = middle;
    }
    return low;
  };
  const gaussianEpsilon = (mu, delta) => 1 / largest((inverse) => gaussianDelta(mu, 1 / inverse) <= delta);
  const zcdpEpsilon = (rho, delta) => 1 / largest((inverse) => zcdpDelta(rho, 1 / inverse) <= delta);
  // Six digits of a number that are not below it; a billionth more than these is these.
  const above = (value) => {
    const power = 10 ** (5 - Math.floor(Math.log10(value)));
    return (Math.ceil(value * (1 - 1e-9) * power) / power).toPrecision(6);
  };
  const muOf = (rho) => Math.sqrt(2 * rounded(rho));
  const allows = (budget, rho) => {
    if (budget.zcdp_rho !== null) return !less(exact(budget.zcdp_rho), rho);
    return rho[0] === 0n || gaussianDelta(muOf(rho), Number(budget.epsilon)) <= Number(budget.delta) * (1 + 1e-12);
  };
  const withoutDelta = (budget, delta) => {
    if (!Number(delta)) return budget;
    need(budget.delta !== null && delta < budget.delta, "labels of open categories need more than the stated delta");
    return { ...budget, delta: Number(budget.delta) - Number(delta) };
  };

  // ---- Signatures
  const PRIME = (1n << 255n) - 19n;
  const EIGHTH = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
  const SMALL = [0n, 1n, PRIME - 1n, EIGHTH, PRIME - EIGHTH];
  const isSigned = async (identity, purpose, message, signature) => {
    if (identity.length !== 32 || signature.length !== 64) return false;
    const y = (BigInt(`0x${hex(identity.slice().reverse())}`) & ((1n << 255n) - 1n)) % PRIME;
    if (SMALL.includes(y)) return false;
    const signed = joined(utf8(FORMAT.signature), sized(utf8(purpose)), message);
    try {
      const key = await crypto.subtle.importKey("raw", identity, { name: "Ed25519" }, false, ["verify"]);
      return await crypto.subtle.verify({ name: "Ed25519" }, key, signature, signed);
    } catch (error) {
      need(error.name !== "NotSupportedError", "this browser has no Ed25519; open the page in a newer one");
      return false;
    }
  };
  const markBytes = (mark) => joined(bigEndian(mark.events, 8), mark.head);
  const isStatement = async (said, identity, terms, digest) => {
    let link = await sha256(joined(utf8(FORMAT.ledger), await sha256(terms)));
    if (!isDistinct(said.entries.map((entry) => entry.query_id))) return false;
    for (const entry of said.entries) {
      const words = [
        entry.kind, fractionText(entry.zcdp_rho), fractionText(entry.delta), String(entry.clique.length), ...entry.clique,
        ...entry.groups.map(String),
      ];
      link = await sha256(joined(...[link, utf8(entry.query_id), entry.query, ...words.map(utf8)].map(sized)));
      if (!(await isSigned(identity, "ledger entry", link, entry.signature))) return false;
    }
    return isSigned(identity, "certificate of a release", joined(link, markBytes(said.mark), digest), said.signature);
  };

  // The cards of a federation, each signed by its owner.
  const readCard = async (form) => {
    const wrong = "not a card, or altered";
    need(form instanceof Map && form.get("format") === FORMAT.card, wrong);
    const body = new Map(form);
    body.delete("signature");
    body.delete("handovers");
    const [role, name, identity, signature] = ["role", "name", "identity", "signature"].map((key) => form.get(key));
    need([role, name, identity, signature].every((one) => typeof one === "string"), wrong);
    need(["party", "dealer", "curator"].includes(role) && (form.get("domain") !== null) === (role === "party"), wrong);
    need(/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(name) && (role === "curator" || name !== CURATOR), wrong);
    const key = unhex(identity);
    need(await isSigned(key, "card", utf8(written(body)), unhex(signature)), `the card of ${name} is not signed by the identity on it`);
    return { role, name, identity: key };
  };
  const readFederation = async (form) => {
    need(form instanceof Map && form.get("format") === FORMAT.federation, `expected a file of the format ${FORMAT.federation}`);
    const cards = async (key, role) => {
      const read = await Promise.all((form.get(key) || []).map(readCard));
      need(read.every((card) => card.role === role), "a card of another role");
      return read;
    };
    const curator = await readCard(form.get("curator"));
    const found = { curator, parties: await cards("parties", "party"), dealers: await cards("dealers", "dealer") };
    need(curator.role === "curator", "a card of another role");
    need(isDistinct([curator, ...found.parties, ...found.dealers].map((card) => card.name)), "two members of one name");
    return found;
  };

  // ---- Checks: {what, passed, finding}; passed is null for what is left to the reader
  const check = (what, passed, good, bad) => ({ what, passed, finding: passed ? good : bad });
  const attempt = async (what, make) => {
    try {
      return await make();
    } catch (error) {
      return [{ what, passed: false, finding: error.message }];
    }
  };
  // What people see: no text of others moves a cursor, hides or turns what stands there.
  const shown = (text_) => String(text_).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "\ufffd");
  const some = (names) => names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");

  const labelCheck = (certificate, unreviewed) => {
    if (unreviewed.length)
      return check("label", false, "", `not private as stated: bounds or categories of ${some(unreviewed)} were read from private rows`);
    const isPrivate = certificate.differentially_private && !certificate.labels.length;
    return check("label", isPrivate, "differentially private", "labelled as not a private release");
  };

  const costsOf = (slices, ledgers) => {
    const each = slices.map((slice, number) => {
      const shown = slice.map((entry) =>
        JSON.stringify((ledgers.get(entry.name) || []).map((one) => [
          one.query_id, hex(one.query), one.kind, one.clique, one.groups.map(String), fractionText(one.zcdp_rho), fractionText(one.delta),
        ])),
      );
      need(shown.every((one) => one === shown[0]), `the parties of slice ${number + 1} charged the same records differently`);
      return ledgers.get(slice[0].name) || [];
    });
    const asked = each.map((entries) => JSON.stringify(entries.map((one) => [one.kind, one.clique, fractionText(one.delta)])));
    need(asked.every((one) => one === asked[0]), "the ledgers of different slices have different numbers or kinds of entries");
    return each[0].map((entry, place) => ({
      kind: entry.kind, clique: entry.clique, delta: entry.delta,
      groups: each.map((entries) => entries[place].groups).find((groups) => groups.length) || [],
      costs: each.map((entries) => entries[place].zcdp_rho),
    }));
  };

  const shapeOf = (charge, sizes) => {
    if (charge.kind !== "interaction") return [];
    return charge.groups.length ? charge.groups : charge.clique.map((name) => sizes.get(name));
  };
  const priced = (charge, unit, sizes, slices) => {
    const sigmas = charge.noise_sigmas_by_slice;
    if (charge.kind === "other" || charge.steps || sigmas.length !== slices) return null;
    if (!charge.clique.every((name) => sizes.has(name))) return null;
    if (!sigmas.every((each) => each.length && each.every((sigma) => sigma > 0))) return null;
    if (charge.kind === "scores") {
      const equal_ = sigmas.every((each) => each.every((sigma) => Number(sigma) === Number(each[0])));
      return equal_ ? sigmas.map((each) => scoreCost(each[0], unit, each.length)) : null;
    }
    const whole_ = charge.clique.map((name) => sizes.get(name));
    const fits = charge.groups.length === whole_.length && charge.groups.every((n, i) => n >= 1n && n <= whole_[i]);
    if (charge.groups.length && !fits) return null;
    const shape = shapeOf(charge, sizes);
    return sigmas.map((each) => sum(each.map((sigma) => marginalCost(sigma, unit, shape))));
  };
  const areBooked = (charges, prices, ledgers, sizes) => {
    let next = 0;
    for (const [place, charge] of charges.entries()) {
      const price = prices[place];
      if (!price) return false;
      let booked = price.map(() => [0n, 1n]);
      // Scores of many marginals are asked in several queries.
      while (booked.some((paid, i) => less(paid, price[i]))) {
        const entry = ledgers[next++];
        if (!entry) return false;
        const groups = entry.groups.map((n, i) => n || sizes.get(entry.clique[i]));
        if (entry.kind !== charge.kind || !same(entry.clique, charge.clique) || !same(groups, charge.groups)) return false;
        booked = booked.map((paid, i) => plus(paid, entry.costs[i]));
      }
      if (!booked.every((paid, i) => equal(paid, price[i]))) return false;
      if (rounded(most(price)) !== Number(charge.zcdp_rho)) return false;
    }
    return next === ledgers.length;
  };

  const near = (a, b, share = SAME) => Math.abs(a - b) <= share * Math.max(Math.abs(a), Math.abs(b));
  const alike = (stated, found) => (found === null || stated === null ? stated === found : typeof stated === "number" && near(stated, found));
  // Epsilon by the privacy loss distribution of discrete noise is that of the Gaussian but for rounding.
  const opinionFits = (stated, charges, costs, budget, unit, factor) => {
    if (!charges.length || charges.some((one) => !one.noise_sigmas_by_slice.length)) return stated === null;
    const delta = Number(budget.delta);
    const changed = Number(changedOf(unit));
    const counts = charges[0].noise_sigmas_by_slice.map((_, i) => sum(charges.map((one) => [BigInt(one.noise_sigmas_by_slice[i].length), 1n])));
    const most_ = Number(most(counts)[0]) * changed;
    const alone = charges.filter((one) => ["scores", "marginal"].includes(one.kind)).flatMap((one) => one.noise_sigmas_by_slice.flat());
    const coarse = 1e-13 + 1e-17 * most_ > delta / 4 || alone.some((sigma) => Number(sigma) * factor < 0.1 * Number(unit.multiple));
    if (coarse) return stated === null;
    const square = times(exact(factor), exact(factor));
    const seen = sum(charges.map((one, i) => (one.kind === "labels" ? costs[i] : over(costs[i], square))));
    return typeof stated === "number" && near(stated, gaussianEpsilon(muOf(seen), delta), SECOND_OPINION);
  };
  const isRecomputed = (certificate, prices, observers, unit) => {
    const { promise, plan, charges } = certificate;
    const costs = prices.map(most);
    const spent = sum(costs);
    let noise = withoutDelta(plan.spec.budget, plan.labels ? plan.labels.delta : 0);
    noise = withoutDelta(noise, plan.bins ? plan.bins.labels_delta : 0);
    const delta = noise.delta === null ? null : Number(noise.delta);
    const budget = plan.spec.budget;
    const numbers = [[promise.zcdp_rho_spent, rounded(spent)], [promise.zcdp_rho_really_spent, rounded(spent)]];
    const bins = plan.bins ? exact(plan.bins.zcdp_rho) : [0n, 1n];
    const aligned = plan.alignment ? sum([spent, bins, plan.alignment.zcdp_rho]) : null;
    numbers.push([promise.zcdp_rho_with_alignment, aligned && rounded(aligned)]);
    numbers.push([promise.epsilon_with_alignment, aligned && delta !== null ? zcdpEpsilon(rounded(aligned), delta) : null]);
    const withBins = plan.bins ? plus(spent, bins) : null;
    numbers.push([promise.zcdp_rho_with_bins, withBins && rounded(withBins)]);
    const gaussian = withBins && delta !== null && charges.every((one) => one.noise_sigmas_by_slice.length);
    numbers.push([promise.epsilon_with_bins, gaussian ? gaussianEpsilon(muOf(withBins), delta) : null]);
    numbers.push([promise.epsilon_really_spent, null]);
    if (!numbers.every(([stated, found]) => alike(stated, found)) || promise.composition !== null) return false;
    if (promise.epsilon !== budget.epsilon || promise.delta !== budget.delta) return false;
    if (promise.spent_within_grant !== !less(exact(promise.zcdp_rho_granted), spent)) return false;
    const opinion = promise.epsilon_by_privacy_loss_distribution;
    if (delta === null ? opinion !== UNSTATED : opinion === UNSTATED || !opinionFits(opinion, charges, costs, noise, unit, 1)) return false;
    if (promise.observers.length !== observers.length) return false;
    const seen = observers.every(({ who, assumes, factor }, i) => {
      const stated = promise.observers[i];
      const square = times(exact(factor), exact(factor));
      const rho = sum(charges.map((one, j) => (one.kind === "labels" ? costs[j] : over(costs[j], square))));
      if (stated.who !== who || stated.assumes !== assumes || !alike(stated.zcdp_rho, rounded(rho))) return false;
      return delta === null ? stated.epsilon === null : opinionFits(stated.epsilon, charges, costs, noise, unit, factor);
    });
    const steps = new Map();
    charges.forEach((one, i) => steps.set(one.step, plus(steps.get(one.step) || [0n, 1n], costs[i])));
    const named = certificate.steps.size === steps.size && Array.from(steps).every(([name, rho]) => Number(certificate.steps.get(name)) === rounded(rho));
    return seen && named;
  };

  const shortest = (value) => {
    // As %g: six digits, without zeros at the end.
    const [mantissa, power] = value.toExponential(5).split("e");
    const exponent = Number(power);
    if (exponent < -4 || exponent >= 6) return `${mantissa.replace(/\.?0+$/, "")}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    const fixed = value.toFixed(Math.max(0, 5 - exponent));
    return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
  };
  const workloadOf = async (plan) => {
    const [cliques, weights] = [plan.workload.map((one) => one.clique), plan.workload.map((one) => one.weight)];
    const sets = cliques.map((one) => JSON.stringify(Array.from(new Set(one)).sort()));
    need(cliques.length && cliques.every((one) => one.length) && isDistinct(sets), "the workload is damaged");
    need(weights.every((weight) => weight >= 0) && weights.some((weight) => weight > 0), "the workload is damaged");
    const sizes = Array.from(new Set(cliques.map((one) => one.length))).sort((a, b) => a - b);
    const widths = sizes.length === 1 ? `${sizes[0]}` : `${sizes[0]} to ${sizes.at(-1)}`;
    const kinds = Array.from(new Set(weights.map(Number))).sort((a, b) => a - b);
    let target = "";
    if (kinds.length === 2 && kinds[0]) {
      const [heavy, light] = [kinds[1], kinds[0]].map((weight) => cliques.filter((_, i) => Number(weights[i]) === weight));
      const beside = new Set(light.flat());
      const targets = heavy[0].filter((name) => heavy.every((one) => one.includes(name)) && !beside.has(name));
      if (targets.length === 1) target = `, with ${shortest(kinds[1] / kinds[0])} times the weight for those with ${targets[0]}`;
    }
    const form = written(cliques.map((one, i) => [one, weights[i]]));
    return { words: `${cliques.length} marginals of ${widths} attributes${target}`, digest: await sha256Hex(utf8(form)) };
  };

  const termsChecks = async (certificate, terms, spent) => {
    const { plan, promise } = certificate;
    const { spec, plan: signed, purpose } = terms;
    const [unit, slices] = [unitOf(spec), slicesOf(signed)];
    const checks = [];
    const equalNumber = (a, b) => (a === null || b === null ? a === b : Number(a) === Number(b));
    const budgets = ["epsilon", "delta", "zcdp_rho"].every((name) => equalNumber(plan.spec.budget[name], spec.budget[name]));
    checks.push(
      ...(await attempt("promise", async () => {
        const stated = budgets && equalNumber(promise.epsilon, spec.budget.epsilon) && equalNumber(promise.delta, spec.budget.delta);
        need(stated && equalNumber(promise.zcdp_rho_granted, terms.granted_rho), "another epsilon, delta or rho than in the signed terms");
        const chosen = signed.chosen ? exact(signed.chosen.zcdp_rho) : [0n, 1n];
        let noise = withoutDelta(spec.budget, purpose.labels ? purpose.labels.delta : 0);
        noise = withoutDelta(noise, signed.chosen ? signed.chosen.labels_delta : 0);
        const both = [exact(terms.granted_rho), spent.rho].map((rho) => plus(chosen, rho));
        need(both.every((rho) => allows(noise, rho)), "the rho of the ledgers does not keep the stated epsilon and delta");
        const rho = `the ledgers give rho ${rounded(both[1]).toPrecision(6)}`;
        const reached = noise.delta === null || both[1][0] === 0n ? "" : `, epsilon ${above(gaussianEpsilon(muOf(both[1]), Number(noise.delta)))} at delta ${Number(spec.budget.delta)}`;
        return [check("promise", true, `${rho}${reached}`)];
      })),
    );
    const words = unitInWords(unit, plan.record_counts.length);
    const record_ = plan.spec.rows_per_person === spec.rows_per_person && isUnit(plan.privacy_unit, words);
    checks.push(check("record", record_, words, "protects another number of rows of a person than the signed terms"));
    const table =
      written([...plan.attributes]) === written(signed.attributes) &&
      same(plan.record_counts, slices.map((slice) => slice[0].record_count)) &&
      same(plan.parties, slices.map((slice) => slice.map((entry) => entry.attributes))) &&
      same(plan.names, slices.map((slice) => slice.map((entry) => entry.name))) &&
      !Number(plan.records_sigma) && !plan.unseen.length && !plan.prior;
    checks.push(check("table", table, `${signed.roster.length} parties, as signed`, "other parties, attributes or numbers of records than in the signed terms"));
    if (plan.alignment || signed.alignment) {
      const [stated, found] = [plan.alignment, signed.alignment];
      const fits =
        stated && found && stated.alignment_id === found.alignment_id && stated.population === found.population &&
        same(stated.people, found.people) && equal(stated.zcdp_rho, found.zcdp_rho) && stated.match_keys === found.match_keys &&
        near(Number(stated.sigma), Math.sqrt((3 * Number(unit.multiple) ** 2 * Number(changedOf(unit))) / (2 * rounded(found.zcdp_rho))), 1e-9);
      checks.push(check("alignment", Boolean(fits), "as signed, at its cost", "another alignment, number of people or cost of it than signed"));
    }
    if (plan.bins || signed.chosen) {
      const [stated, found] = [plan.bins, signed.chosen];
      const fits =
        stated && found && stated.release_id === found.release_id && stated.certificate === found.certificate &&
        Number(stated.zcdp_rho) === found.zcdp_rho && Number(stated.labels_delta) === found.labels_delta &&
        same(stated.attributes, [...found.runs.keys(), ...found.labels.keys()].sort(byCodePoint));
      checks.push(check("bins", Boolean(fits), "as signed, at their cost, which the promise covers", "another release that chose codes, or another cost of it, than signed"));
    }
    checks.push(
      ...(await attempt("purpose", async () => {
        const workload = await workloadOf(plan);
        const search = (one) => written(one === null ? null : [one.attributes, Number(one.delta)]);
        const about = ["purpose", "contact", "asked", "until"].every((name) => plan.spec.about[name] === spec.about[name]);
        const fits =
          plan.domain_digest === purpose.domain_digest && written(plan.mechanism, ", ", ": ") === purpose.mechanism &&
          workload.words === purpose.workload && workload.digest === purpose.workload_digest &&
          search(plan.labels) === search(purpose.labels) && about && plan.spec.rows === spec.rows && same(plan.unreviewed, purpose.unreviewed);
        return [check("purpose", fits, `${plan.mechanism.get("name")} for ${purpose.workload}, as signed`, "another domain, mechanism, workload, labels, reason, number of synthetic rows or unreviewed attributes than signed")];
      })),
    );
    const trust =
      same(plan.dealers, signed.dealers.map((dealer) => dealer.name)) && same(plan.evaluators, evaluatorNames(signed)) &&
      plan.collusion === (signed.masked ? whoMustCollude(signed) : "") &&
      ["adjacency", "protocol", "collusions", "check", "sample"].every((name) => plan.spec[name] === spec[name]);
    checks.push(check("trust", trust, `${spec.protocol}, ${spec.adjacency}, as signed${plan.collusion && `. ${plan.collusion}`}`, "another protocol, adjacency, dealers, evaluators, collusions, check or sample than signed"));
    return checks;
  };

  const chargesChecks = (certificate, terms, ledgers) => {
    const sizes = new Map(terms.plan.attributes);
    const [unit, slices] = [unitOf(terms.spec), slicesOf(terms.plan).length];
    const prices = certificate.charges.map((charge) => priced(charge, unit, sizes, slices));
    if (!areBooked(certificate.charges, prices, ledgers, sizes))
      return [check("charges", false, "", "differ from the ledgers, or from the cost of their noise")];
    const delta = sum(ledgers.map((one) => one.delta));
    const spent = sum(ledgers.map((one) => most(one.costs)));
    const allowed = terms.purpose.labels ? exact(terms.purpose.labels.delta) : [0n, 1n];
    const within = !less(exact(terms.granted_rho), spent) && !less(allowed, delta);
    const observers = terms.plan.masked ? observersOf(terms.plan) : [];
    const recomputed = isRecomputed(certificate, prices, observers, unitOf(certificate.plan.spec));
    return [
      check("charges", true, `all ${certificate.charges.length} are in every ledger, at the cost of their noise`),
      check("budget", within, "spent within the grant", "spent more than the grant"),
      check("recomputed", recomputed, "the charges give the stated costs, epsilons and observers", "the charges give other costs, epsilons or observers than stated"),
    ];
  };

  const signedChecks = async (certificate, federation) => {
    const { signed } = certificate;
    let terms;
    try {
      terms = readTerms(signed.terms);
    } catch (error) {
      return [check("form", false, "", `the signed terms are damaged: ${error.message}`)];
    }
    const checks = [labelCheck(certificate, terms.purpose.unreviewed.length ? terms.purpose.unreviewed : certificate.plan.unreviewed)];
    const digest = await digestOf(certificate);
    const cards = federation || {
      curator: null,
      parties: terms.plan.roster.map(({ name, identity }) => ({ name, identity })),
      dealers: terms.plan.dealers.filter((dealer) => dealer.name !== CURATOR),
    };
    const { curator } = cards;
    if (curator)
      checks.push(check(`curator ${curator.name}`, await isSigned(curator.identity, "terms of a release", signed.terms, signed.curator_signature), "signed the terms", "did not sign the terms"));
    else checks.push({ what: "identities", passed: null, finding: "no file of cards is here, so the keys are those that the terms name: compare each with what its institution publishes" });
    const keys = (entries) => new Map(entries.map((one) => [one.name, hex(one.identity)]));
    const [known, named] = [keys(cards.parties), keys(terms.plan.roster)];
    const said = new Map(signed.parties.map((one) => [one.name, one]));
    const odd = Array.from(new Set([...said.keys(), ...named.keys()])).filter((name) => !said.has(name) || !named.has(name) || known.get(name) !== named.get(name));
    checks.push(check("parties", !odd.length, `all ${named.size} identities are those of the ${federation ? "cards" : "terms"}`, `not all signed, or identities differ from the cards: ${odd.sort(byCodePoint).join(", ")}`));
    for (const card of cards.parties.filter(({ name }) => said.has(name))) {
      const one = said.get(card.name);
      const valid = await isStatement(one, card.identity, signed.terms, digest);
      checks.push(check(`party ${card.name}`, valid, `signed ${one.entries.length} entries and the certificate`, "did not sign these entries and this certificate"));
    }
    checks.push(...(await dealerChecks(signed, terms, cards, digest)));
    let ledgers;
    try {
      ledgers = costsOf(slicesOf(terms.plan), new Map(Array.from(said, ([name, one]) => [name, one.entries])));
    } catch (error) {
      return [...checks, check("charges", false, "", error.message)];
    }
    const spent = { rho: sum(ledgers.map((one) => most(one.costs))) };
    checks.push(...(await termsChecks(certificate, terms, spent)));
    checks.push(...(await attempt("charges", async () => chargesChecks(certificate, terms, ledgers))));
    checks.push({ what: "not verified", passed: null, finding: "error bounds, rounds, how marginals were selected, the noise of measurements, the model, its time, the versions of software, titles and planned shares of steps are the curator's own statements" });
    return checks;
  };

  const dealerChecks = async (signed, terms, cards, digest) => {
    const { plan } = terms;
    if (!plan.masked || !plan.dealers.length) return [];
    const curator = cards.curator && hex(cards.curator.identity);
    const known = new Map([...cards.dealers, ...plan.roster].map((one) => [one.name, hex(one.identity)]));
    if (curator) known.set(CURATOR, curator);
    const others = participantsOf(plan).slice(plan.roster.length).map((one) => one.name).filter((name) => name !== CURATOR);
    const saying = signed.dealers.map((one) => one.name);
    const odd = new Set(
      plan.dealers
        .filter(({ name, identity }) => (curator || name !== CURATOR) && (known.get(name) !== hex(identity) || (hex(identity) === curator && name !== CURATOR)))
        .map((dealer) => dealer.name),
    );
    for (const name of [...others, ...saying]) if (!others.includes(name) || !saying.includes(name)) odd.add(name);
    const checks = [check("dealers", !odd.size, `${plan.dealers.map((one) => one.name).join(", ")}, as on the cards`, `not all signed, or identities differ from the cards: ${Array.from(odd).join(", ")}`)];
    if (curatorDeals(plan)) checks.push(check(`dealer ${CURATOR}`, true, "dealt by the curator: for trials; see under trust what it can read"));
    for (const said of signed.dealers) {
      const card = cards.dealers.find((one) => one.name === said.name);
      if (!card) continue;
      const valid = !said.entries.length && (await isStatement(said, card.identity, signed.terms, digest));
      checks.push(check(`dealer ${said.name}`, valid, "signed the certificate", "did not sign the certificate, or signed entries of a ledger"));
    }
    return checks;
  };

  // A release that one place made: nobody signs it, but its numbers follow from its charges.
  const unsignedChecks = (certificate) => {
    const { plan, promise } = certificate;
    const unit = unitOf(plan.spec);
    const slices = plan.record_counts.length;
    const checks = [labelCheck(certificate, plan.unreviewed)];
    checks.push({ what: "signatures", passed: null, finding: "nobody signed it: it is the word of who made it, and what follows shows only that it is consistent" });
    const sizes = plan.attributes;
    const prices = certificate.charges.map((charge) => priced(charge, unit, sizes, slices));
    const costs = certificate.charges.map((charge, i) => (prices[i] ? most(prices[i]) : exact(charge.zcdp_rho)));
    const fits = certificate.charges.every((charge, i) => rounded(costs[i]) === Number(charge.zcdp_rho) && (prices[i] || charge.kind === "other"));
    checks.push(check("charges", fits, `all ${costs.length} at the cost of their noise`, "differ from the cost of their noise"));
    const spent = sum(costs);
    const whole_ = plus(spent, plan.bins ? exact(plan.bins.zcdp_rho) : [0n, 1n]);
    const total = near(Number(promise.zcdp_rho_spent), rounded(spent));
    checks.push(check("costs", total, `add up to rho ${rounded(spent).toPrecision(6)}`, "do not add up to what is stated"));
    const gaussian = prices.every((price) => price !== null);
    let noise = withoutDelta(plan.spec.budget, plan.labels ? plan.labels.delta : 0);
    noise = withoutDelta(noise, plan.bins ? plan.bins.labels_delta : 0);
    const budget = plan.spec.budget;
    const stated = alike(promise.epsilon === null ? null : Number(promise.epsilon), budget.epsilon === null ? null : Number(budget.epsilon)) && alike(promise.delta === null ? null : Number(promise.delta), budget.delta === null ? null : Number(budget.delta));
    if (gaussian) {
      const kept = stated && allows(noise, whole_);
      const reached = noise.delta === null ? "" : `: epsilon ${above(gaussianEpsilon(muOf(whole_), Number(noise.delta)))} at delta ${Number(budget.delta)}`;
      checks.push(check("promise", kept, `kept${reached}`, "more was spent than promised"));
    } else checks.push(check("promise", stated && !less(exact(promise.zcdp_rho_granted), spent), "spent within the grant; steps without Gaussian noise are not recomputed here", "more was spent than promised"));
    return checks;
  };

  // ---- Folders: a map from path to a function that reads the file
  const TABLES = ["csv", "parquet", "feather", "xlsx", "sav", "dta", "xpt"].map((kind) => `synthetic.${kind}`);
  const READ = [...TABLES, "model.npz", "evidence.npz", "report.html", "storage.json"];
  const WARNING = "NOT-FOR-RELEASE.txt";
  const inside = (files, folder) =>
    new Map(Array.from(files).filter(([path]) => path.startsWith(folder)).map(([path, read]) => [path.slice(folder.length), read]));
  const fileChecks = async (certificate, files) => {
    const checks = [];
    for (const [name, stated] of certificate.outputs) {
      const plain = /^(bins\/)?[^/]+$/.test(name) && !/(^|\/)\.{1,2}$/.test(name);
      if (!plain) checks.push(check(`file ${name}`, false, "", "not the name of a file"));
      else if (!files.has(name)) checks.push({ what: `file ${name}`, passed: null, finding: "not in this folder, so not checked" });
      else checks.push(check(`file ${name}`, (await sha256Hex(await files.get(name)())) === stated, "as certified", "not the file that was certified"));
    }
    const held = Array.from(files.keys()).filter((path) => !path.includes("/"));
    const warned = held.filter((name) => held.includes(`${name}.${WARNING}`));
    const known = new Set([...certificate.outputs.keys(), "certificate.json", WARNING]);
    for (const name of warned) for (const one of [name, `${name}.${WARNING}`]) if (!READ.includes(one)) known.add(one);
    const others = held.filter((name) => !known.has(name) || (READ.includes(name) && !certificate.outputs.has(name)));
    others.sort((a, b) => !READ.includes(a) - !READ.includes(b) || byCodePoint(a, b));
    if (others.length) checks.push(check("other files", !others.some((name) => READ.includes(name)), `in the folder, and not certified: ${some(others)}`, `in the folder, and not certified: ${some(others)}`));
    return checks;
  };
  const choiceChecks = async (certificate, files) => {
    const chosen = certificate.signed ? readTerms(certificate.signed.terms).plan.chosen : certificate.plan.bins;
    const [what, folder] = ["bins/certificate.json", inside(files, "bins/")];
    if (!chosen) return certificate.signed || !folder.has("certificate.json") ? [] : [check(what, false, "", "not the certificate that the plan names")];
    if (!folder.has("certificate.json")) return [{ what, passed: null, finding: "not in this folder, so not checked" }];
    return attempt(what, async () => {
      const made = readCertificate(jsonOf(await folder.get("certificate.json")()));
      const named = hex(await digestOf(made)) === chosen.certificate;
      if (!certificate.signed)
        return [check(what, named && !made.labels.length && Number(made.promise.zcdp_rho_granted) <= Number(chosen.zcdp_rho), "as the plan names it, at the cost that it states", "not the certificate that the plan names, or at another cost"), ...(await fileChecks(made, folder))];
      need(named && made.signed, "not the certificate that the plan names");
      const [terms, first] = [readTerms(certificate.signed.terms), readTerms(made.signed.terms)];
      const [one, other] = [unitOf(terms.spec), unitOf(first.spec)];
      const delta = first.purpose.labels ? first.purpose.labels.delta : 0;
      need(
        first.release_id === chosen.release_id && one.adjacency === other.adjacency && one.rows === other.rows &&
          first.granted_rho === chosen.zcdp_rho && delta === chosen.labels_delta,
        "charged for another unit, or at another cost, than the plan states",
      );
      return [check(what, true, "as the plan names it, at the cost that it states; verify it too"), ...(await fileChecks(made, folder))];
    });
  };
  const verifyRelease = async (certificate, federation, files) => {
    if (federation && !certificate.signed)
      return [check("form", false, "", "not signed, so not the certificate of a release over the institutions of these cards")];
    const checks = certificate.signed ? await signedChecks(certificate, federation) : unsignedChecks(certificate);
    if (files && !checks.some((one) => one.what === "form" && !one.passed)) {
      checks.push(...(await fileChecks(certificate, files)));
      checks.push(...(await choiceChecks(certificate, files)));
    }
    return checks;
  };

  const nextUp = (value) => {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, value);
    view.setBigUint64(0, view.getBigUint64(0) + 1n);
    return view.getFloat64(0);
  };
  const faultOfLink = async (before, after) => {
    const [one, other] = [before.lifetime, after.lifetime];
    if (!one || before.labels.length || !before.differentially_private) return "one does not share a promise, or is labelled as not a private release";
    const form = PeopleCertificate.write(before);
    form.set("format", FORMAT.people);
    if (other.earlier !== hex(await sha256(utf8(written(form))))) return "one is not that which the next one names";
    const next = Number(other.number) === Number(one.number) + 1 && Number(other.releases) === Number(one.releases);
    if (!next || other.settings !== one.settings) return "they are not one after the other of the same releases";
    const { budget } = after;
    const same = Object.entries(before.budget).every(([name, value]) => (value === null ? budget[name] === null : Number(value) === Number(budget[name])));
    if (!same || before.adjacency !== after.adjacency) return "they do not share one promise";
    const own = plus(sum(before.parts.map((part) => part.zcdp_rho)), one.zcdp_rho_earlier);
    return equal(own, before.zcdp_rho_spent) && equal(own, other.zcdp_rho_earlier) ? "" : "costs do not add up to what is stated";
  };
  const lifetimeChecks = async (certificate, files) => {
    const { lifetime } = certificate;
    const found = [];
    for (let number = 1; number < Number(lifetime.number); number++) {
      const path = `earlier/${number}.json`;
      if (!files.has(path)) return [check("earlier releases", false, "", "a certificate is missing or damaged")];
      found.push(readPeople(jsonOf(await files.get(path)())));
    }
    const all = [...found, certificate];
    for (let place = 1; place < all.length; place++) {
      const fault = await faultOfLink(all[place - 1], all[place]);
      if (fault) return [check("earlier releases", false, "", fault)];
    }
    const checks = [check("earlier releases", true, `${found.length} of ${lifetime.releases} that share the promise`, "")];
    if (found.length && files.has(lifetime.table)) {
      const beginning = (await files.get(lifetime.table)()).slice(0, Number(lifetime.table_bytes));
      const unchanged = (await sha256Hex(beginning)) === found[found.length - 1].outputs.get(lifetime.table);
      checks.push(check("earlier rows", unchanged, "as released before", "not those released before"));
    }
    return checks;
  };
  // The parts of a release over parties: each as its parties signed it, and all of them of one release.
  const OF_RECORDS = "records";
  const OF_ALIGNMENT = "the alignment of people";
  const folderOf = (table) => Array.from(table, (letter) => (/[\p{L}\p{N}_-]/u.test(letter) ? letter : "_")).slice(0, 100).join("");
  const wholeOf = ({ protocol_version: version, spec, plan }) => {
    const { related, alignment } = plan;
    const { purpose, contact, until } = spec.about;
    const dealers = plan.dealers.map(({ name, identity }) => [name, hex(identity)]);
    const roster = plan.roster.map(({ name, slice, identity }) => [name, slice, hex(identity)]);
    const tables = related.relations.map(({ table, parent, order }) => [table, parent, order]);
    const aligned = alignment && [alignment.alignment_id, alignment.population, alignment.people, fractionText(alignment.zcdp_rho), alignment.match_keys];
    const agreed = [spec.adjacency, spec.rows_per_person, spec.protocol, spec.collusions, spec.check, spec.sample, purpose, contact, until];
    return written([related.whole, related.zcdp_rho, version, roster, tables, agreed, aligned, plan.masked, dealers, plan.evaluators]);
  };
  // What a part that is left out answered may be in bins that others state, at a cost that nobody counts.
  const areAll = (terms) => {
    const granted = terms.reduce((sum, one) => sum + one.granted_rho, 0);
    return terms.every((one) => granted >= one.plan.related.zcdp_rho * (1 - 2 ** -40));
  };
  const ofParts = async (certificate, parts, files, verified) => {
    const checks = [];
    for (const { table, of: what, certificate: digest } of certificate.parts) {
      if (!parts.has(digest)) continue;
      const own = what === OF_RECORDS ? inside(files, `${OF_RECORDS}/${folderOf(table)}/`) : null;
      for (const one of await verified(parts.get(digest).made, own)) checks.push({ ...one, what: `${table}, ${what}: ${one.what}` });
    }
    return checks;
  };
  const partsChecks = async (certificate, parts, files, federation) => {
    const checks = await ofParts(certificate, parts, files, (made, own) => verifyRelease(made, federation, own));
    const costs = (values, none) => written(Array.from(new Set(values.length ? values : none)).sort());
    const signed = costs(Array.from(parts.values(), ({ made }) => (made.plan.alignment ? fractionText(made.plan.alignment.zcdp_rho) : "0")), []);
    const stated = costs(certificate.parts.filter((part) => part.of === OF_ALIGNMENT).map((part) => fractionText(part.zcdp_rho)), ["0"]);
    const good = stated === written(["0"]) ? "none" : "at the cost that the parties signed";
    checks.push(check("alignment", signed === stated, good, "not at the cost that the parties signed"));
    const terms = new Map(Array.from(parts, ([digest, { made }]) => [digest, termsOf(made)]));
    const related = Array.from(terms.values()).every((one) => one && one.plan.related);
    const wholes = related && new Set(Array.from(terms.values(), wholeOf));
    const tables = certificate.parts.every(({ table, certificate: digest }) => !terms.has(digest) || (related && terms.get(digest).plan.related.table === table));
    const complete = related && wholes.size === 1 && areAll(Array.from(terms.values()));
    checks.push(check("release", complete && tables, "all parts of one", "parts of several releases, not all of one, or of other tables"));
    return { checks, terms: Array.from(terms.values()).find((one) => one) || null };
  };
  const verifyPeople = async (form, files, federation) => {
    const certificate = readPeople(form);
    const checks = [];
    for (const [name, stated] of certificate.outputs) {
      const proper = name && !name.startsWith("/") && !name.includes("\\") && !name.split("/").includes("..");
      const found = proper && files.has(name) && (await sha256Hex(await files.get(name)())) === stated;
      checks.push(check(`file ${name}`, found, "as certified", proper ? "missing, or not the file that was certified" : "not the name of a file in this folder"));
    }
    const folders = Array.from(certificate.outputs.keys()).filter((name) => name.startsWith("records/")).map((name) => name.slice(0, name.lastIndexOf("/") + 1));
    const known = new Set([...certificate.outputs.keys(), "certificate.json", WARNING]);
    const others = Array.from(files.keys()).filter((name) => !known.has(name) && !folders.some((folder) => name.startsWith(folder) && /^(bins\/)?[^/]+$/.test(name.slice(folder.length)))).sort(byCodePoint);
    if (others.length) checks.push(check("other files", false, "", `in the folder, and not certified: ${others[0]}`));
    const parts = new Map();
    for (const [path, read] of files)
      if (/^(records\/[^/]+\/certificate\.json|choices\/[^/]+\.json)$/.test(path)) {
        const made = readCertificate(jsonOf(await read()));
        const cost = plus(exact(nextUp(Number(made.promise.zcdp_rho_spent))), made.plan.bins ? exact(made.plan.bins.zcdp_rho) : [0n, 1n]);
        parts.set(hex(await digestOf(made, new Map())), { made, cost, path });
      }
    const made = Array.from(parts.values(), (part) => part.made);
    const words = unitInWords({ rows: 0n }, 1);
    const record_ = isUnit(certificate.privacy_unit, words) && made.every((one) => one.plan.spec.adjacency === certificate.adjacency);
    checks.push(check("record", record_, words, "protects somebody else, or under another adjacency, than its parts"));
    const isPart = (part) => {
      if (!parts.has(part.certificate)) return false;
      const { made: one, cost } = parts.get(part.certificate), { labels, bins } = one.plan;
      const delta = Number(labels ? labels.delta : 0) + Number(bins ? bins.labels_delta : 0);
      const learned = !delta && one.charges.some((charge) => charge.kind === "labels");
      return equal(cost, part.zcdp_rho) && (learned ? part.labels_delta > 0 : Number(part.labels_delta) === delta);
    };
    const stated = certificate.parts.every((part) => !part.certificate || isPart(part));
    const named = new Set(certificate.parts.map((part) => part.certificate));
    const all = Array.from(parts.keys()).every((digest) => named.has(digest));
    checks.push(check("parts", stated && all, `${certificate.parts.length}, as their certificates say`, "one is not as its certificate in the folder says, or a certificate is that of no part"));
    let terms = null;
    if (made.some((one) => one.signed)) {
      const found = await partsChecks(certificate, parts, files, federation);
      checks.push(...found.checks);
      terms = found.terms;
    } else {
      if (federation) checks.push(check("form", false, "", "no part is signed, so not the certificate of a release over the institutions of these cards"));
      checks.push({ what: "signatures", passed: null, finding: "nobody signs a release from one place: it is the word of who made it" });
      checks.push(...(await ofParts(certificate, parts, files, async (made, own) => (own ? [...(await fileChecks(made, own)), ...(await choiceChecks(made, own))] : []))));
      for (const part of parts.values())
        for (const one of unsignedChecks(part.made)) if (one.passed === false) checks.push({ ...one, what: `${part.path}: ${one.what}` });
    }
    const { lifetime } = certificate;
    if (lifetime) checks.push(...(await lifetimeChecks(certificate, files)));
    const parted = sum(certificate.parts.map((part) => part.zcdp_rho));
    const spent = lifetime ? plus(parted, lifetime.zcdp_rho_earlier) : parted;
    const { budget } = certificate;
    const left = budget.delta === null ? null : Number(budget.delta) - certificate.parts.reduce((total, part) => total + Number(part.labels_delta), 0);
    // The noise of an alignment is another than Gaussian.
    const aligned = certificate.parts.some((part) => part.of === OF_ALIGNMENT);
    const epsilon = left === null ? null : aligned ? zcdpEpsilon(rounded(spent), left) : gaussianEpsilon(muOf(spent), left);
    const costs = equal(spent, certificate.zcdp_rho_spent) && (epsilon === null ? certificate.epsilon_spent === null : certificate.epsilon_spent !== null && near(Number(certificate.epsilon_spent), epsilon, 1e-9));
    checks.push(check("costs", costs, "add up", "do not add up to what is stated"));
    const kept = budget.epsilon === null ? !less(exact(budget.zcdp_rho), spent) : epsilon !== null && epsilon <= Number(budget.epsilon) * (1 + 1e-12);
    checks.push(check("promise", kept, `kept${epsilon === null ? "" : `: epsilon ${above(epsilon)} at delta ${Number(budget.delta)}`}`, "more was spent than promised"));
    const labels = [...certificate.labels, ...made.flatMap((one) => one.labels)];
    checks.push(check("label", certificate.differentially_private && !labels.length, "differentially private", "labelled as not a private release"));
    return { certificate, federation, terms, checks };
  };

  /** Verifies the release in a folder.
   * files: Map from path in the folder to a function that gives the file's bytes; federation: JSON of all cards, or null. */
  const verifyFolder = async (files, federation) => {
    need(files.has("certificate.json"), "expected a folder with a certificate.json, found none");
    const form = jsonOf(await files.get("certificate.json")());
    const cards = federation ? await readFederation(federation) : null;
    if (form instanceof Map && form.get("format") === FORMAT.people) return { kind: "people", ...(await verifyPeople(form, files, cards)) };
    const certificate = readCertificate(form);
    const checks = await verifyRelease(certificate, cards, files);
    return { kind: certificate.signed ? "parties" : "one place", certificate, federation: cards, terms: termsOf(certificate), checks };
  };
  const termsOf = (certificate) => {
    try {
      return certificate.signed && readTerms(certificate.signed.terms);
    } catch {
      return null;
    }
  };
  return {
    FORMAT, Refused, shown, parseJson, jsonOf, written, hex, unhex, readCertificate, readFederation, readTerms, digestOf, verifyRelease,
    verifyFolder, gaussianEpsilon, zcdpEpsilon, gaussianDelta, rounded, fractionOf, inside,
  };
})();

if (typeof module !== "undefined") {
  module.exports = verifier;
  if (require.main === module) {
    const [fs, path] = [require("fs"), require("path")];
    const [certificate, federation] = process.argv.slice(2);
    const files = new Map();
    const walk = (folder, within) => {
      for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
        const full = path.join(folder, entry.name);
        if (entry.isDirectory()) walk(full, `${within}${entry.name}/`);
        else files.set(within + entry.name, () => fs.readFileSync(full));
      }
    };
    const main = async () => {
      walk(path.dirname(certificate), "");
      files.set("certificate.json", () => fs.readFileSync(certificate));
      const cards = federation ? verifier.jsonOf(fs.readFileSync(federation)) : null;
      const { checks } = await verifier.verifyFolder(files, cards);
      const words = (passed) => (passed === null ? "      " : passed ? "ok    " : "FAILED");
      for (const { what, passed, finding } of checks) console.log(verifier.shown(`${words(passed)}  ${what}: ${finding}`));
      process.exitCode = checks.some((one) => one.passed === false) ? 1 : 0;
    };
    main().catch((error) => {
      console.log(verifier.shown(`FAILED  form: ${error.message}`));
      process.exitCode = 1;
    });
  }
}
