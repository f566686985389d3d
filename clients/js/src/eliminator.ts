/** The rounds of federated elimination, which `cdp-mab` and `ddp-mab` share. Clock `slots`. */

import { laplace } from "./arms.js";
import { COORDINATOR, type Frame } from "./codec.js";
import type { Machine, Run } from "./run.js";
import { Schedule } from "./schedule.js";

/** Slots after which an agent gives a sign of life. */
const SIGN_EVERY = 50;

export abstract class Eliminator implements Machine {
  protected round = 0;
  /** The arms that are left. */
  protected left: number[];
  /** ȳ and ŷ of these arms: the average of all rounds, and the last round's. */
  protected mean: number[];
  protected latest: number[] = [];
  /** S(r). */
  protected observed = 0;
  /** The arm to play while means travel, and at the end. */
  protected answer = 0;
  protected readonly schedule: Schedule;

  constructor(
    protected readonly run: Run,
    senders: number,
  ) {
    const arms = run.setup.arms.means.length;
    this.schedule = new Schedule(run.setup.parameters, arms, senders);
    this.left = Array.from({ length: arms }, (_, arm) => arm);
    this.mean = this.left.map(() => 0);
  }

  abstract begin(): void;
  abstract receive(frame: Frame): void;
  /** Share ȳ after the exploration of a round. */
  protected abstract share(): void;

  protected beginRound(): void {
    if (this.left.length === 1) return this.play(this.left[0]);
    this.round += 1;
    const before = this.observed;
    const observed = this.schedule.observations(this.round, this.left.length, before);
    const rewards = observed - before;
    if (this.left.length * rewards > this.slotsLeft) return this.cut();
    this.observed = observed;
    const scale = this.schedule.scale(rewards);
    this.latest = this.pull(this.left, rewards).map((sum) => sum / rewards + laplace(scale));
    this.mean = this.mean.map((mean, place) => (before * mean + rewards * this.latest[place]) / observed);
    this.answer = this.left[bestOf(this.mean)];
    this.run.disclose(1 / rewards, scale, 1 / (rewards * scale), `round ${this.round}`);
    this.run.note("explored", this.round, this.left.length, observed, rewards);
    this.share();
  }

  protected get slotsLeft(): number {
    return this.schedule.horizon - this.run.now;
  }

  protected keep(arms: number[]): void {
    this.mean = arms.map((arm) => this.mean[this.left.indexOf(arm)]);
    this.left = arms;
  }

  /** Pull each of these arms so often, a slot each; returns the sums of their rewards. */
  protected pull(arms: number[], times: number): number[] {
    const sums = arms.map((arm) => {
      let sum = 0;
      for (let pull = 0; pull < times; pull++) sum += this.run.arms(arm);
      return sum;
    });
    const before = this.run.now;
    this.run.now += times * arms.length;
    if (Math.floor(before / SIGN_EVERY) !== Math.floor(this.run.now / SIGN_EVERY)) {
      this.run.control(COORDINATOR, "SlotReached");
    }
    this.run.count(arms, times);
    return sums;
  }

  /** Play one arm for the slots that are left. */
  protected play(arm: number): void {
    this.answer = arm;
    if (this.slotsLeft > 0) this.pull([arm], this.slotsLeft);
    this.end();
  }

  /** The round does not fit any more: pull the arms in turn for the slots that are left. */
  private cut(): void {
    const times = Math.floor(this.slotsLeft / this.left.length);
    if (times > 0) this.pull(this.left, times);
    if (this.slotsLeft > 0) this.pull(this.left.slice(0, this.slotsLeft), 1);
    this.end();
  }

  protected end(): void {
    this.run.note("left", ...this.left);
    this.run.finish(this.answer);
  }
}

export function bestOf(means: number[]): number {
  return means.indexOf(Math.max(...means));
}
