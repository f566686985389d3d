/** The agent of `ddp-mab`: means travel between neighbours by GIS, and each agent decides alike. */

import { COORDINATOR, packFloats, unpackFloats, type Frame } from "./codec.js";
import { bestOf, Eliminator } from "./eliminator.js";
import type { Run } from "./run.js";

/** What an agent sends a neighbour in a stage of a slot: the agents whose means it is about. */
type Said = Map<number, number[]>;

export class Ddp extends Eliminator {
  private slot = 0;
  private stage: "idle" | "adv" | "req" | "data" = "idle";
  /** The means of this round that are here, by agent; `fresh` came in the slot before. */
  private means = new Map<number, number[]>();
  private fresh: number[] = [];
  /** What neighbours advertised in this slot, or already in the next. */
  private advertised: Said = new Map();
  private early: Said = new Map();
  private requests: Said = new Map();
  private wanted: Said = new Map();
  private delivered = new Map<number, number[][]>();
  private links = 0;

  constructor(run: Run) {
    super(run, run.setup.agents);
  }

  begin(): void {
    this.beginRound();
  }

  protected share(): void {
    const { parameters, variant, knowledge } = this.run.setup;
    const own = variant === "corrected" ? this.mean : this.latest;
    const atOnce = parameters.t_delay === "diameter-1";
    const delay = Math.max(0, knowledge.diameter - Number(atOnce));
    if (delay > this.slotsLeft) return this.play(this.answer);
    this.means = new Map([[this.run.rank, own]]);
    this.fresh = [this.run.rank];
    this.slot = this.links = 0;
    if (knowledge.diameter === 0) return this.decide();
    if (!atOnce) this.pull([this.answer], 1);
    this.openSlot();
  }

  private openSlot(): void {
    this.slot += 1;
    this.stage = "adv";
    [this.advertised, this.early] = [this.early, new Map()];
    this.requests = new Map();
    this.wanted = new Map();
    this.delivered = new Map();
    for (const neighbour of this.run.setup.neighbours) {
      if (this.fresh.length > 0) this.run.data(neighbour, "Adv", this.round, this.slot, this.fresh);
      else this.quiet(neighbour, "adv");
    }
    this.goOn();
  }

  receive({ source, kind, fields }: Frame): void {
    const [round, slot, third] = fields;
    if (!this.run.setup.neighbours.includes(source)) return;
    const ofThisSlot = this.stage !== "idle" && round === this.round && slot === this.slot;
    if (kind === "Adv" || (kind === "Quiet" && third === "adv")) {
      (ofThisSlot ? this.advertised : this.early).set(source, kind === "Adv" ? third : []);
    } else if (kind === "Req" || (kind === "Quiet" && third === "req")) {
      if (ofThisSlot) this.requests.set(source, kind === "Req" ? third : []);
    } else if (kind === "Data" && ofThisSlot && String(third) === String(this.wanted.get(source))) {
      this.delivered.set(source, rowsOf(unpackFloats(fields[3]), third.length));
    }
    this.goOn();
  }

  /** A stage begins when the one before is complete. */
  private goOn(): void {
    const neighbours = this.run.setup.neighbours.length;
    if (this.stage === "adv" && this.advertised.size === neighbours) this.request();
    if (this.stage === "req" && (this.fresh.length === 0 || this.requests.size === neighbours)) this.deliver();
    if (this.stage === "data" && this.delivered.size === this.wanted.size) this.endSlot();
  }

  /** Ask for the means that are missing here, each of the lowest neighbour that advertised it. */
  private request(): void {
    this.stage = "req";
    const known = new Set(this.means.keys());
    for (const neighbour of [...this.advertised.keys()].sort((one, other) => one - other)) {
      const offered = this.advertised.get(neighbour)!;
      if (offered.length === 0) continue;
      const lacking = offered.filter((origin) => !known.has(origin));
      lacking.forEach((origin) => known.add(origin));
      if (lacking.length === 0) {
        this.quiet(neighbour, "req");
      } else {
        this.wanted.set(neighbour, lacking);
        this.run.data(neighbour, "Req", this.round, this.slot, lacking);
      }
    }
  }

  private deliver(): void {
    this.stage = "data";
    for (const neighbour of [...this.requests.keys()].sort((one, other) => one - other)) {
      const origins = this.requests.get(neighbour)!;
      if (origins.length === 0) continue;
      const rows = packFloats(origins.flatMap((origin) => this.means.get(origin)!));
      this.run.data(neighbour, "Data", this.round, this.slot, origins, rows);
    }
  }

  private endSlot(): void {
    this.stage = "idle";
    for (const neighbour of this.run.setup.neighbours) {
      const used = this.fresh.length > 0 || this.advertised.get(neighbour)!.length > 0;
      if (neighbour > this.run.rank && used) this.links += 1;
    }
    const fresh: number[] = [];
    this.wanted.forEach((origins, neighbour) =>
      origins.forEach((origin, place) => {
        this.means.set(origin, this.delivered.get(neighbour)![place]);
        fresh.push(origin);
      }),
    );
    this.fresh = fresh.sort((one, other) => one - other);
    if (this.slot === this.run.setup.knowledge.diameter) return this.decide();
    this.pull([this.answer], 1);
    this.openSlot();
  }

  private decide(): void {
    const { agents } = this.run.setup;
    if (this.means.size < agents) {
      const reason = `agent ${this.run.rank}: means of round ${this.round} did not arrive`;
      return this.run.control(COORDINATOR, "Failed", reason, false);
    }
    this.run.note("exchanged", this.round, this.slot, this.links);
    const rows = Array.from({ length: agents }, (_, agent) => this.means.get(agent)!);
    const average = this.left.map((_, place) => rows.reduce((sum, row) => sum + row[place], 0) / agents);
    this.answer = this.left[bestOf(average)];
    this.keep(this.schedule.survivors(this.round, this.left, this.observed, average));
    const arms = Buffer.alloc(4 * this.left.length);
    this.left.forEach((arm, place) => arms.writeUInt32LE(arm, 4 * place));
    this.run.control(COORDINATOR, "Attested", this.round, arms);
    this.beginRound();
  }

  private quiet(neighbour: number, stage: "adv" | "req"): void {
    this.run.control(neighbour, "Quiet", this.round, this.slot, stage, Buffer.alloc(0), 0);
  }
}

function rowsOf(values: number[], rows: number): number[][] {
  const width = values.length / rows;
  return Array.from({ length: rows }, (_, row) => values.slice(row * width, (row + 1) * width));
}
