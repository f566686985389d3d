/** The agent of `mase`: successive elimination, and a vote for each arm that it drops. */

import { COORDINATOR, type Frame } from "./codec.js";
import type { Machine, Run } from "./run.js";

export class Mase implements Machine {
  /** The arms that are left, and the pulls of each so far. */
  left: number[] = [];
  pulls = 0;
  private sums: number[];
  private readonly arms: number;
  private readonly beta: number;

  constructor(private readonly run: Run) {
    this.arms = run.setup.arms.means.length;
    this.beta = run.setup.parameters.beta;
    this.sums = new Array(this.arms).fill(0);
  }

  begin(): void {
    this.left = this.sums.map((_, arm) => arm);
  }

  /** The sums after these rewards, one of each arm that is left. */
  add(rewards: number[], sums = this.sums): number[] {
    const after = [...sums];
    this.left.forEach((arm, place) => (after[arm] += rewards[place]));
    return after;
  }

  /** E = { k in L : max_l μ̂_l - μ̂_k >= 2 sqrt(log(K t² / β) / t) } after t pulls of each arm. */
  losers(pulls = this.pulls, sums = this.sums): number[] {
    const width = 2 * Math.sqrt(Math.log((this.arms * pulls * pulls) / this.beta) / pulls);
    const best = Math.max(...this.left.map((arm) => sums[arm])) / pulls;
    return this.left.filter((arm) => best - sums[arm] / pulls >= width);
  }

  /** The agent was active once, and pulled each arm that is left. */
  activate(rewards: number[]): void {
    this.sums = this.add(rewards);
    this.pulls += 1;
    const losers = this.losers();
    if (losers.length === 0) return;
    this.run.data(COORDINATOR, "Vote", losers);
    this.drop(losers);
  }

  receive({ source, kind, fields }: Frame): void {
    if (source === COORDINATOR && kind === "Eliminated") this.drop(fields[0]);
  }

  private drop(arms: number[]): void {
    if (this.run.done) return;
    this.left = this.left.filter((arm) => !arms.includes(arm));
    if (this.left.length <= 1) this.run.finish(this.left[0] ?? null);
  }
}
