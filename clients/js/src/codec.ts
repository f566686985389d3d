/** Frames and envelopes as bytes: "A frame" and "The envelope" in docs/wire.md. */

import { decode, encode } from "@msgpack/msgpack";

export const COORDINATOR = -1;
export const NO_RUN = 0xffff_ffff;
export const HEADER_BYTES = 32;
export const ENVELOPE_BYTES = 12;

export enum Plane {
  Data = 0,
  Control = 1,
  World = 2,
}

export interface Header {
  plane: Plane;
  run: number;
  source: number;
  sequence: number;
  /** In the unit of the run's clock. */
  now: number;
  /** The coordinator's clock in nanoseconds; 0 says nothing. */
  sent: bigint;
}

export interface Frame extends Header {
  kind: string;
  fields: any[];
}

export function encodeFrame(header: Header, kind: string, fields: unknown[]): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write("po\x01", 0, "latin1");
  bytes.writeUInt8(header.plane, 3);
  bytes.writeUInt32LE(header.run, 4);
  bytes.writeInt32LE(header.source, 8);
  bytes.writeUInt32LE(header.sequence, 12);
  bytes.writeDoubleLE(header.now, 16);
  bytes.writeBigInt64LE(header.sent, 24);
  return Buffer.concat([bytes, encode([kind, ...fields])]);
}

/** The frame in these bytes, or undefined if they are none of this version. */
export function decodeFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 3) !== "po\x01") return undefined;
  let message: unknown;
  try {
    message = decode(bytes.subarray(HEADER_BYTES));
  } catch {
    return undefined;
  }
  if (!Array.isArray(message) || typeof message[0] !== "string") return undefined;
  const [kind, ...fields] = message;
  return {
    plane: bytes.readUInt8(3),
    run: bytes.readUInt32LE(4),
    source: bytes.readInt32LE(8),
    sequence: bytes.readUInt32LE(12),
    now: bytes.readDoubleLE(16),
    sent: bytes.readBigInt64LE(24),
    kind,
    fields,
  };
}

/** What an envelope is for: a frame, a confirmation, a request to send again, a question. */
export type Mark = "F" | "C" | "A" | "P" | "G";

export interface Envelope {
  mark: Mark;
  number: number;
  confirmed: number;
  content: Buffer;
}

export function encodeEnvelope(envelope: Envelope): Buffer {
  const bytes = Buffer.alloc(ENVELOPE_BYTES);
  bytes.write("pn\x01" + envelope.mark, 0, "latin1");
  bytes.writeUInt32LE(envelope.number >>> 0, 4);
  bytes.writeUInt32LE(envelope.confirmed >>> 0, 8);
  return Buffer.concat([bytes, envelope.content]);
}

/** The envelope before these bytes, or undefined if there is none. */
export function decodeEnvelope(bytes: Buffer): Envelope | undefined {
  if (bytes.length < ENVELOPE_BYTES || bytes.toString("latin1", 0, 3) !== "pn\x01") return undefined;
  return {
    mark: bytes.toString("latin1", 3, 4) as Mark,
    number: bytes.readUInt32LE(4),
    confirmed: bytes.readUInt32LE(8),
    content: bytes.subarray(ENVELOPE_BYTES),
  };
}

/** The rank of the neighbour that these bytes come from, with or without a frame. */
export function senderOf(bytes: Buffer): number {
  const place = ENVELOPE_BYTES + 8;
  return bytes.length < place + 4 ? COORDINATOR : bytes.readInt32LE(place);
}

export function packFloats(values: number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  values.forEach((value, place) => bytes.writeDoubleLE(value, 8 * place));
  return bytes;
}

export function unpackFloats(data: Uint8Array): number[] {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return Array.from({ length: bytes.length >> 3 }, (_, place) => bytes.readDoubleLE(8 * place));
}

export function packIntegers(values: number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  values.forEach((value, place) => bytes.writeBigInt64LE(BigInt(value), 8 * place));
  return bytes;
}

/** One line for a terminal: what others wrote may hold escape codes, or text that runs backwards. */
export function printable(text: unknown, longest = 2_000): string {
  const shown = String(text).slice(0, longest);
  return shown.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0)!.toString(16)}}`);
}
