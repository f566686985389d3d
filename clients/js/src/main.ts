#!/usr/bin/env node
/** The command: node dist/main.js --join tcp://HOST:PORT [--keys DIR] [--rank RANK] [--wait SECONDS] [--host HOST] */

import { parseArgs } from "node:util";

import { takePart } from "./agent.js";
import { printable } from "./codec.js";
import { readKeys } from "./keys.js";

const text = { type: "string" } as const;

function end(error: Error): never {
  console.error(printable(error.message));
  process.exit(1);
}
process.on("uncaughtException", end);

const { values } = parseArgs({ options: { join: text, keys: text, rank: text, wait: text, host: text } });
if (values.join === undefined) end(new Error("say which coordinator by --join tcp://HOST:PORT"));
process.exitCode = await takePart({
  endpoint: values.join,
  keys: values.keys === undefined ? undefined : readKeys(values.keys),
  rank: values.rank === undefined ? undefined : Number(values.rank),
  wait: values.wait === undefined ? undefined : Number(values.wait),
  host: values.host,
}).catch(end);
