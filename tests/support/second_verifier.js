// Answers each line of standard input, a request in JSON, by one line: what the second verifier finds.
const { createInterface } = require("readline");
const { readFileSync, readdirSync } = require("fs");
const { join } = require("path");
const verifier = require(process.argv[2]);

const filesOf = (folder, within = "") =>
  new Map(
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const full = join(folder, entry.name);
      if (entry.isDirectory()) return [...filesOf(full, `${within}${entry.name}/`)];
      return [[within + entry.name, () => readFileSync(full)]];
    }),
  );

const ASKED = {
  verify: async ({ certificate, federation, folder }) => {
    const read = verifier.readCertificate(verifier.parseJson(certificate));
    const cards = federation && (await verifier.readFederation(verifier.parseJson(federation)));
    return verifier.verifyRelease(read, cards, folder && filesOf(folder));
  },
  folder: async ({ folder, federation }) =>
    (await verifier.verifyFolder(filesOf(folder), federation ? verifier.parseJson(federation) : null)).checks,
  digest: async ({ certificate }) =>
    verifier.hex(await verifier.digestOf(verifier.readCertificate(verifier.parseJson(certificate)))),
  terms: ({ bytes }) => (verifier.readTerms(verifier.unhex(bytes)), true),
  epsilon: ({ mu, delta }) => verifier.gaussianEpsilon(mu, delta),
  zcdp: ({ rho, delta }) => verifier.zcdpEpsilon(rho, delta),
  rounded: ({ fraction }) => verifier.rounded(verifier.fractionOf(fraction)),
  written: ({ text }) => verifier.written(verifier.parseJson(text)),
};

const answer = async (line) => {
  const { ask, ...request } = JSON.parse(line);
  try {
    return { found: await ASKED[ask](request) };
  } catch (error) {
    return { refused: `${error.name}: ${error.message}` };
  }
};

(async () => {
  for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await answer(line)));
})();
