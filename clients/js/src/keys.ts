/** An agent's folder of keys, as `posse keys` makes it: "Sockets" in docs/wire.md. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Keys as ZeroMQ writes them: 40 characters of Z85. */
export interface Keys {
  rank: number;
  public: string;
  secret: string;
  coordinator: string;
}

export function readKeys(folder: string): Keys {
  const names = readdirSync(folder).map((name) => /^agent-(\d+)\.key_secret$/.exec(name));
  const found = names.filter((name) => name !== null);
  if (found.length !== 1) {
    throw new Error(`${folder} has ${found.length} files agent-RANK.key_secret; it must have one`);
  }
  const secretFile = readFileSync(join(folder, found[0][0]), "utf8");
  const entry = (name: string): string => {
    const value = new RegExp(`^${name} = "(.{40})"$`, "m").exec(secretFile);
    if (value === null) throw new Error(`${found[0][0]} has no ${name} key; make it by posse keys`);
    return value[1];
  };
  return {
    rank: Number(found[0][1]),
    public: entry("public"),
    secret: entry("secret"),
    coordinator: connectingKey(readFileSync(join(folder, "coordinator.key"), "utf8").trim()),
  };
}

/** The first 32 of the 64 bytes behind `pk_`: they connect, the others sign. */
function connectingKey(word: string): string {
  const bytes = Buffer.from(word.replace(/^pk_/, ""), "base64url");
  if (bytes.length !== 64) throw new Error("coordinator.key has no key; copy the coordinator's");
  return z85(bytes.subarray(0, 32));
}

const Z85 =
  "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/** ZeroMQ RFC 32: four bytes, big-endian, are five digits of base 85. */
export function z85(bytes: Buffer): string {
  let text = "";
  for (let place = 0; place < bytes.length; place += 4) {
    let number = bytes.readUInt32BE(place);
    let digits = "";
    for (let digit = 0; digit < 5; digit++) {
      digits = Z85[number % 85] + digits;
      number = Math.floor(number / 85);
    }
    text += digits;
  }
  return text;
}
