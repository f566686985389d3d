/** One run of one agent: what its machine may do, and what the `Report` says of it. */

import type { Arms } from "./arms.js";
import {
  COORDINATOR, encodeFrame, HEADER_BYTES, packFloats, packIntegers, Plane, type Frame,
} from "./codec.js";

/** What an agent decides: clients/README.md. */
export interface Machine {
  begin(): void;
  /** A message of the coordinator or of a neighbour that belongs to the run. */
  receive(frame: Frame): void;
}

/** How time passes: "Clocks" in docs/wire.md. */
export interface Clock {
  begin(): void;
  receive(frame: Frame): void;
  advance?(now: number): void;
  stop(now: number): void;
}

/** `Configure`'s map, as far as this client uses it. */
export interface Setup {
  system: string;
  variant: string;
  mode: string;
  parameters: Record<string, any>;
  agents: number;
  arms: { kind: string; means: number[] };
  clock: "virtual" | "slots" | "wall";
  rate: number;
  neighbours: number[];
  inboxes: Record<number, string>;
  keys: Record<number, string>;
  first: number;
  knowledge: Record<string, any>;
  sign: boolean;
}

/** Points of the curve of regret beyond which every second one is left out. */
const MOST_POINTS = 2_000;

export class Run {
  /** In the unit of the run's clock. */
  now = 0;
  /** Whether the machine has finished. */
  done = false;
  /** Whether the coordinator has stopped the run. */
  stopped = false;
  private readonly pulls: number[];
  private readonly gaps: number[];
  private activations = 0;
  private slots = 0;
  private regret = 0;
  private curve: number[][] = [[0, 0, 0]];
  private readonly links = new Map<string, [number, number, number, string, number, number, number]>();
  private readonly releases: unknown[][] = [];
  private readonly log: Record<string, number[][]> = {};
  private sequence = 0;

  /** `post` hands a frame to the link to a peer; `stamp` is the coordinator's clock. */
  constructor(
    readonly number: number,
    readonly rank: number,
    readonly setup: Setup,
    readonly arms: Arms,
    private readonly post: (peer: number, frame: Buffer) => void,
    private readonly stamp: () => bigint,
  ) {
    const means = setup.arms.means;
    this.pulls = means.map(() => 0);
    this.gaps = means.map((mean) => Math.max(...means) - mean);
  }

  data(peer: number, kind: string, ...fields: unknown[]): void {
    this.send(Plane.Data, peer, kind, fields);
  }

  control(peer: number, kind: string, ...fields: unknown[]): void {
    this.send(Plane.Control, peer, kind, fields);
  }

  finish(arm: number | null): void {
    this.done = true;
    this.control(COORDINATOR, "Finished", arm, "");
  }

  /** Count `times` pulls of each of these arms, which ended now. */
  count(arms: number[], times: number): void {
    this.activations += times;
    this.slots += times * arms.length;
    let cost = 0;
    for (const arm of arms) {
      this.pulls[arm] += times;
      cost += this.gaps[arm];
    }
    this.regret += times * cost;
    this.curve.push([this.now, this.activations, this.regret]);
    if (this.curve.length > MOST_POINTS) {
      const last = this.curve.length - 1;
      this.curve = this.curve.filter((_, place) => place % 2 === 0 || place === last);
    }
  }

  /** A row of a table of the log; see the tables in clients/README.md. */
  note(table: string, ...row: number[]): void {
    (this.log[table] ??= []).push([this.now, ...row]);
  }

  /** A noisy release of means of rewards in [0, 1]. */
  disclose(sensitivity: number, scale: number, epsilon: number, block: string): void {
    this.releases.push(["laplace", sensitivity, scale, epsilon, block, 1]);
  }

  report(): void {
    this.control(
      COORDINATOR, "Report",
      packIntegers(this.pulls), this.activations, this.slots,
      { regret: this.regret }, { regret: packFloats(this.curve.flat()) },
      [...this.links.values()], {}, {}, this.releases, this.log, {},
      [process.cpuUsage().user * 1e-6, process.resourceUsage().maxRSS * 1024, 0],
    );
  }

  private send(plane: Plane, peer: number, kind: string, fields: unknown[]): void {
    const header = {
      plane, run: this.number, source: this.rank, sequence: this.sequence++, now: this.now, sent: this.stamp(),
    };
    const frame = encodeFrame(header, kind, fields);
    const name = `${peer} ${kind}`;
    const link = this.links.get(name) ?? [this.rank, peer, plane, kind, 0, 0, 0];
    this.links.set(name, link);
    link[4] += 1;
    link[5] += frame.length - HEADER_BYTES;
    link[6] += frame.length;
    this.post(peer, frame);
  }
}
