/** ZeroMQ sockets with posse's options, and who may connect to them. */

import * as zmq from "zeromq";

import { z85, type Keys } from "./keys.js";

const ZAP = "inproc://zeromq.zap.01";
/** Milliseconds between two looks whether a key is known by now, and for how many looks. */
const LOOK_AGAIN = 20;
const MOST_LOOKS = 500;

const OPTIONS = { linger: 2_000, maxMessageSize: 8 << 20, handshakeInterval: 10_000 };
const HIGH_WATER = 100_000;

/** Options of a socket that connects; with keys, to the peer that has `serverKey` only. */
export function connecting(keys?: Keys, serverKey?: string) {
  const curve = keys && {
    curvePublicKey: keys.public,
    curveSecretKey: keys.secret,
    curveServerKey: serverKey,
  };
  return { ...OPTIONS, sendHighWaterMark: HIGH_WATER, heartbeatInterval: 1_000, heartbeatTimeout: 4_000, ...curve };
}

/** Options of a socket that listens; with keys, to peers that `admitKeys` admits only. */
export function listening(keys?: Keys) {
  const curve = keys && { curveServer: true, curveSecretKey: keys.secret, zapDomain: "posse", zapEnforceDomain: true };
  return { ...OPTIONS, receiveHighWaterMark: HIGH_WATER, ...curve };
}

/** Answer ZeroMQ's questions (RFC 27) whether a key may connect; one not known yet is kept 10 s. */
export async function admitKeys(known: () => Set<string>): Promise<zmq.Router> {
  const socket = new zmq.Router({ linger: 0 });
  await socket.bind(ZAP);
  const outbox = new Outbox(socket);
  const answer = (question: Buffer[], looks = 0): void => {
    const [peer, empty, version, id, , , , mechanism, key] = question;
    const curve = mechanism.toString() === "CURVE" && key.length === 32;
    const admitted = curve && known().has(z85(key));
    if (curve && !admitted && looks < MOST_LOOKS && !socket.closed) {
      setTimeout(() => answer(question, looks + 1), LOOK_AGAIN).unref();
      return;
    }
    const verdict = admitted ? "200" : curve ? "300" : "400";
    outbox.push([peer, empty, version, id, verdict, "", admitted ? z85(key) : "", ""]);
  };
  void receive(socket, (question) => answer(question));
  return socket;
}

/** Sends one message after another: a socket of zeromq takes one at a time. */
export class Outbox {
  private readonly queue: zmq.MessageLike[][] = [];
  private idle: Promise<void> = Promise.resolve();
  private busy = false;

  constructor(private readonly socket: { send(message: zmq.MessageLike[]): Promise<void> }) {}

  push(message: zmq.MessageLike[]): void {
    this.queue.push(message);
    if (!this.busy) this.idle = this.pump();
  }

  /** When all is handed to ZeroMQ. */
  async flushed(): Promise<void> {
    await this.idle;
  }

  private async pump(): Promise<void> {
    this.busy = true;
    try {
      for (let next = this.queue.shift(); next; next = this.queue.shift()) await this.socket.send(next);
    } catch {
      this.queue.length = 0; // the socket was closed: sessions keep what is to be sent again
    }
    this.busy = false;
  }
}

/** Hand on what comes, until the socket is closed. */
export async function receive(
  socket: { receive(): Promise<Buffer[]>; closed: boolean },
  take: (message: Buffer[]) => void,
): Promise<void> {
  while (!socket.closed) {
    let message: Buffer[];
    try {
      message = await socket.receive();
    } catch {
      return; // the socket was closed
    }
    take(message);
  }
}
