/** When an agent is active that pulls one reward of each of its arms at a time: `virtual`, `wall`. */

import { COORDINATOR, type Frame } from "./codec.js";
import type { Mase } from "./mase.js";
import type { Clock, Run } from "./run.js";

/** Activations planned ahead, at most. */
const MOST_AHEAD = 1 << 16;

interface Activation {
  time: number;
  rewards: number[];
}

/**
 * A Poisson process of the agent's rate. The activations up to the next vote are drawn ahead, so
 * that the coordinator is told of that one alone. If a message comes before, those that came before
 * it count, and the rewards of the others are used for the arms that are left.
 */
export class VirtualClock implements Clock {
  private plan: Activation[] = [];
  private readonly unused: number[][];

  constructor(
    private readonly run: Run,
    private readonly machine: Mase,
  ) {
    this.unused = run.setup.arms.means.map(() => []);
  }

  begin(): void {
    this.machine.begin();
    this.lookAhead();
    this.sayDue();
  }

  advance(now: number): void {
    this.carryOut(now);
    this.lookAhead();
    this.sayDue();
  }

  receive(frame: Frame): void {
    this.carryOut(frame.now);
    const before = this.machine.left;
    this.machine.receive(frame);
    if (this.machine.left.length < before.length) this.putBack(before);
    if (this.plan.length === 0) this.lookAhead();
    this.sayDue();
  }

  stop(now: number): void {
    const pulled = this.plan.filter((activation) => activation.time <= now).length;
    this.run.now = Math.max(this.run.now, now);
    if (pulled > 0) this.run.count(this.machine.left, pulled);
  }

  private sayDue(): void {
    const due = this.run.done ? Infinity : this.plan[this.plan.length - 1].time;
    this.run.control(COORDINATOR, "Due", due);
  }

  /** Be active as often as planned up to this time. */
  private carryOut(now: number): void {
    this.run.now = now;
    const past = this.plan.filter((activation) => activation.time <= now);
    this.plan = this.plan.slice(past.length);
    if (past.length > 0) this.run.count(this.machine.left, past.length);
    for (const { rewards } of past) this.machine.activate(rewards);
  }

  /** Drop the plan for these arms; its rewards come first in the next one. */
  private putBack(arms: number[]): void {
    arms.forEach((arm, place) => this.unused[arm].unshift(...this.plan.map(({ rewards }) => rewards[place])));
    this.plan = [];
  }

  private lookAhead(): void {
    const { left } = this.machine;
    let time = this.run.now;
    let pulls = this.machine.pulls;
    let sums: number[] | undefined;
    while (!this.run.done && this.plan.length < MOST_AHEAD) {
      time -= Math.log(1 - Math.random()) / this.run.setup.rate;
      const rewards = left.map((arm) => this.unused[arm].shift() ?? this.run.arms(arm));
      this.plan.push({ time, rewards });
      sums = this.machine.add(rewards, sums);
      pulls += 1;
      if (this.machine.losers(pulls, sums).length > 0) return;
    }
  }
}

/** Nobody waits: the agent is active again and again, and listens between two bursts. */
export class WallClock implements Clock {
  private readonly began = process.hrtime.bigint();

  constructor(
    private readonly run: Run,
    private readonly machine: Mase,
  ) {}

  begin(): void {
    this.machine.begin();
    setImmediate(() => this.burst());
  }

  receive(frame: Frame): void {
    this.tick();
    this.machine.receive(frame);
  }

  stop(): void {
    this.tick();
  }

  private tick(): void {
    this.run.now = Number(process.hrtime.bigint() - this.began) * 1e-9;
  }

  private burst(): void {
    for (let turn = 0; turn < 64 && !this.run.done && !this.run.stopped; turn++) {
      this.tick();
      const { left } = this.machine;
      this.run.count(left, 1);
      this.machine.activate(left.map((arm) => this.run.arms(arm)));
    }
    if (!this.run.done && !this.run.stopped) setImmediate(() => this.burst());
  }
}
