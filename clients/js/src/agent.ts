/** An agent: it joins, and takes part in one run after the other. */

import { decode } from "@msgpack/msgpack";

import { VirtualClock, WallClock } from "./activity.js";
import { bernoulli, type Arms } from "./arms.js";
import { Cdp } from "./cdp.js";
import { COORDINATOR, encodeFrame, NO_RUN, Plane, printable, type Frame } from "./codec.js";
import { Ddp } from "./ddp.js";
import type { Keys } from "./keys.js";
import { Mase } from "./mase.js";
import { Mesh } from "./mesh.js";
import { Run, type Clock, type Machine, type Setup } from "./run.js";
import { Uplink } from "./uplink.js";

/** Frames kept for a run that has not begun here; honest neighbours are a slot ahead at most. */
const MOST_EARLY = 10_000;

/** Of a configuration. */
const BOUNDED = { maxStrLength: 1 << 20, maxBinLength: 1 << 20, maxArrayLength: 1 << 16, maxMapLength: 1 << 16 };

const WITH_NEIGHBOURS = ["ddp-mab"];

/** Parameters of each system that its run file may leave out. */
const DEFAULTS: Record<string, Record<string, unknown>> = {
  mase: { delta: 0.05, beta: 0.5 },
  "cdp-mab": { noise: "printed", participation: 1 },
  "ddp-mab": { noise: "printed", exchange: "gis", t_delay: "diameter-1" },
};

export interface Options {
  endpoint: string;
  /** -1: the coordinator chooses. */
  rank?: number;
  keys?: Keys;
  /** Seconds to wait for the coordinator, whenever there is none. */
  wait?: number;
  /** The address of this host at which neighbours reach it. */
  host?: string;
  /** Rewards in place of those of the coordinator's run file. */
  arms?: Arms;
}

/** Take part until the coordinator lets the agent go; resolves to the exit code of its runs. */
export function takePart(options: Options): Promise<number> {
  return new Promise((resolve, reject) => new Agent(options, resolve, reject));
}

class Agent {
  private readonly uplink: Uplink;
  private readonly mesh: Mesh;
  private rank: number;
  private setup: Setup | undefined;
  private ready = false;
  private run: Run | undefined;
  private clock: Clock | undefined;
  /** Frames of a run that came before its `Begin`. */
  private early: Frame[] = [];

  constructor(
    private readonly options: Options,
    private readonly resolve: (code: number) => void,
    private readonly reject: (error: Error) => void,
  ) {
    const { endpoint, keys, wait = 300 } = options;
    this.rank = keys?.rank ?? options.rank ?? COORDINATOR;
    this.mesh = new Mesh(keys, (frame) => this.heard(frame), (neighbour, up) => this.linked(neighbour, up));
    this.uplink = new Uplink(endpoint, this.rank, wait, keys, {
      welcomed: (rank, system) => this.welcomed(rank, system),
      heard: (frame) => this.heard(frame),
      forget: () => this.forget(),
      failed: (reason) => this.fail(reason),
    });
  }

  private async welcomed(rank: number, system: string): Promise<string> {
    this.rank = rank;
    return WITH_NEIGHBOURS.includes(system) ? this.mesh.open(this.options.host ?? "127.0.0.1") : "";
  }

  private forget(): void {
    this.setup = this.run = this.clock = undefined;
    this.ready = false;
    this.early = [];
    this.mesh.unlink();
  }

  private fail(reason: string): void {
    this.uplink.close();
    this.mesh.close();
    this.reject(new Error(printable(reason)));
  }

  private heard(frame: Frame): void {
    const { run } = this;
    const kind = frame.source === COORDINATOR ? frame.kind : "";
    if (kind === "Configure") this.configure(frame.fields[0], frame.fields[1]);
    else if (kind === "Goodbye") void this.leave(frame.fields[0] ?? 0);
    else if (kind === "Moved") this.mesh.move(frame.fields[0], frame.fields[1]);
    else if (kind === "Begin") this.begin(frame.run);
    else if (run === undefined || frame.run > run.number) {
      if (this.early.length < MOST_EARLY) this.early.push(frame);
    } else if (frame.run === run.number && !run.stopped) this.inRun(run, this.clock!, frame);
  }

  private inRun(run: Run, clock: Clock, frame: Frame): void {
    if (frame.source !== COORDINATOR) return clock.receive(frame);
    switch (frame.kind) {
      case "Advance":
        return clock.advance?.(frame.now);
      case "Stop":
        clock.stop(frame.now);
        run.stopped = true;
        return run.report();
      case "Gone": // only `ddp-mab` is sent it, whose agents must then agree anew where to go on
        return run.control(COORDINATOR, "Failed", "a client in TypeScript does not go on after a loss", false);
      default:
        return frame.plane === Plane.Data ? clock.receive(frame) : undefined;
    }
  }

  private configure(rank: number, bytes: Uint8Array): void {
    const setup = decode(bytes, BOUNDED) as Setup;
    setup.parameters = { ...DEFAULTS[setup.system], ...setup.parameters };
    const trouble = cannotPlay(setup);
    if (trouble) return this.fail(trouble);
    [this.rank, this.setup, this.ready] = [rank, setup, false];
    this.run = this.clock = undefined;
    this.mesh.connect(rank, setup);
    this.sayReady();
  }

  private linked(neighbour: number, up: boolean): void {
    if (this.ready) this.outsideRuns("Linked", neighbour, up);
    else this.sayReady();
  }

  private sayReady(): void {
    if (this.setup === undefined || this.ready || !this.mesh.allUp) return;
    this.ready = true;
    this.outsideRuns("Ready", this.setup.first ?? 0);
  }

  private outsideRuns(kind: string, ...fields: unknown[]): void {
    const header = {
      plane: Plane.Control, run: NO_RUN, source: this.rank, sequence: 0, now: 0, sent: this.uplink.clock(),
    };
    this.uplink.session.send(encodeFrame(header, kind, fields));
  }

  private begin(number: number): void {
    const setup = this.setup!;
    const post = (peer: number, frame: Buffer): void => {
      if (peer === COORDINATOR) this.uplink.session.send(frame);
      else this.mesh.send(peer, frame);
    };
    const arms = this.options.arms ?? bernoulli(setup.arms.means);
    this.run = new Run(number, this.rank, setup, arms, post, () => this.uplink.clock());
    this.clock = clockOf(this.run);
    this.clock.begin();
    const early = this.early;
    this.early = [];
    early.forEach((frame) => this.heard(frame));
  }

  private async leave(code: number): Promise<void> {
    await this.uplink.leave();
    this.mesh.close();
    this.resolve(code);
  }
}

function clockOf(run: Run): Clock {
  if (run.setup.system === "mase") {
    const machine = new Mase(run);
    return run.setup.clock === "virtual" ? new VirtualClock(run, machine) : new WallClock(run, machine);
  }
  const machine: Machine = run.setup.system === "cdp-mab" ? new Cdp(run) : new Ddp(run);
  return { begin: () => machine.begin(), receive: (frame) => run.done || machine.receive(frame), stop: () => {} };
}

/** Why this client cannot take part in such runs; "" if it can. */
function cannotPlay({ system, mode, sign, arms, parameters, agents, rate, neighbours }: Setup): string {
  if (!Number.isInteger(agents) || agents < 1 || typeof rate !== "number" || !Array.isArray(neighbours)) {
    return "the coordinator's configuration is damaged";
  }
  if (!["mase", "cdp-mab", "ddp-mab"].includes(system)) return `${system} is not mase, cdp-mab or ddp-mab`;
  if (mode !== "lab") return `the mode is ${mode}; this client has the lab's noise and no ledger`;
  if (sign) return "engine.sign is true; this client does not sign";
  if (arms?.kind !== "bernoulli" || !arms.means?.every?.((mean) => typeof mean === "number")) {
    return "the arms are not of kind bernoulli with one list of means, as this client needs them";
  }
  if (parameters.noise === "shared") return "noise is 'shared'; this client has no masks";
  const wrong = Object.entries(parameters).find(([, value]) => typeof value === "number" && !(Math.abs(value) <= 1e9));
  if (wrong !== undefined) return `${wrong[0]} is ${wrong[1]}, which no run takes`;
  const { exchange } = parameters;
  return system !== "ddp-mab" || exchange === "gis" ? "" : `exchange is '${exchange}'; this client has 'gis'`;
}
