// Compiles ledger/contracts/*.sol with the pinned npm solc into artifacts/*.json, which are committed.
//   node ledger/contracts/compile.mjs            writes the artifacts
//   node ledger/contracts/compile.mjs --check    writes nothing; exit code 1 when a committed artifact is stale
// Deterministic: the same sources and compiler give the same bytes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const ROOT = join(FOLDER, "..", "..");
const ARTIFACTS = join(FOLDER, "artifacts");
const DEPLOYABLE = ["HydraLedger"];
const CODE_LIMIT = 24_576; // EIP-170, bytes of deployed code
const SETTINGS = {
  evmVersion: "prague", // eth-tester stops there; solc's own default is newer
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: "none", appendCBOR: false }, // comments do not change the code
  outputSelection: {
    "*": {
      "*": ["abi", "userdoc", "evm.bytecode.object", "evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"],
    },
  },
};

function fail(message) {
  console.error(message);
  process.exit(1);
}

function loadCompiler() {
  try {
    return createRequire(join(ROOT, "package.json"))("solc");
  } catch {
    return fail("the compiler is missing: run `npm ci --ignore-scripts` first");
  }
}

const digest = (text) => createHash("sha256").update(text).digest("hex");

function compile(solc) {
  const own = readdirSync(FOLDER).filter((name) => name.endsWith(".sol")).sort();
  const seen = {}; // every source that the compiler read, by the name it knows it under
  const read = (name, path) => (seen[name] = readFileSync(path, "utf8"));
  const sources = Object.fromEntries(own.map((name) => [name, { content: read(name, join(FOLDER, name)) }]));
  const find = (name) => {
    const path = join(ROOT, "node_modules", name);
    return existsSync(path) ? { contents: read(name, path) } : { error: `not found: ${name}` };
  };
  const input = { language: "Solidity", sources, settings: SETTINGS };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: find }));
  const messages = (output.errors ?? []).map((error) => error.formattedMessage);
  if (messages.length) fail(messages.join("\n")); // warnings are errors
  return { output, seen };
}

function artifact(name, { output, seen }, version) {
  const { abi, userdoc, evm } = output.contracts[`${name}.sol`][name];
  const code = evm.deployedBytecode.object;
  if (code.length / 2 > CODE_LIMIT) fail(`${name}: ${code.length / 2} bytes of code, the limit is ${CODE_LIMIT}`);
  const files = Object.keys(seen).sort();
  const immutables = Object.values(evm.deployedBytecode.immutableReferences).flat().sort((a, b) => a.start - b.start);
  return {
    contract: name,
    compiler: `solc ${version}`,
    settings: { evmVersion: SETTINGS.evmVersion, optimizer: SETTINGS.optimizer },
    sources: Object.fromEntries(files.map((file) => [file, digest(seen[file])])),
    sourceHash: digest(files.map((file) => `${file}\n${digest(seen[file])}\n`).join("")),
    abi,
    userdoc: userdoc.methods,
    bytecode: `0x${evm.bytecode.object}`,
    deployedBytecode: `0x${code}`,
    immutables,
  };
}

const solc = loadCompiler();
const compiled = compile(solc);
const isCheck = process.argv.includes("--check");
for (const name of DEPLOYABLE) {
  const path = join(ARTIFACTS, `${name}.json`);
  const text = JSON.stringify(artifact(name, compiled, solc.version().split(".Emscripten")[0]), null, 1) + "\n";
  if (isCheck) {
    const committed = existsSync(path) ? readFileSync(path, "utf8") : "";
    if (committed !== text) fail(`${relative(ROOT, path)} is stale: run \`node ledger/contracts/compile.mjs\` and commit it`);
  } else {
    mkdirSync(ARTIFACTS, { recursive: true });
    writeFileSync(path, text);
  }
  console.log(`${name}: ${(JSON.parse(text).deployedBytecode.length - 2) / 2} bytes of code, ${isCheck ? "artifact current" : "artifact written"}`);
}
