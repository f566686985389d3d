/** S(r), C(r) and the noise of federated elimination: clients/README.md. */

export class Schedule {
  /** `senders`: the number of agents whose means are averaged, M or ⌈pM⌉. */
  constructor(
    private readonly parameters: Record<string, any>,
    private readonly arms: number,
    readonly senders: number,
  ) {}

  get horizon(): number {
    return this.parameters.horizon;
  }

  /** What the formulas take for ε. */
  private get level(): number {
    const { epsilon, noise } = this.parameters;
    return noise === "printed" ? epsilon : epsilon / this.senders;
  }

  private aim(round: number): number {
    const { gap, max_rounds: most } = this.parameters;
    return gap == null || most == null ? 2 ** -round : gap ** (round / most);
  }

  /** log(8 `arms` r² T): L_r for the arms that are left, P_r for all. */
  private log(round: number, arms = this.arms): number {
    return Math.log(8 * arms * round ** 2 * this.horizon);
  }

  private private(round: number): number {
    return (round * Math.sqrt(8 * this.log(round))) / (this.senders * Math.sqrt(this.senders) * this.level);
  }

  /** S(r), observations per arm up to round r, for so many arms left and S(r-1) = `before`. */
  observations(round: number, left: number, before: number): number {
    const aim = this.aim(round);
    const statistical = (8 * this.log(round, left)) / (this.senders * aim ** 2);
    return Math.max(Math.ceil(Math.max(statistical, (4 * this.private(round)) / aim)), before + 1);
  }

  /** C(r). */
  private radius(round: number, left: number, observations: number): number {
    const statistical = Math.sqrt(this.log(round, left) / (2 * this.senders * observations));
    return statistical + this.private(round) / observations;
  }

  /** The scale of the noise of a mean of d rewards. */
  scale(rewards: number): number {
    return 1 / (this.senders * this.level * rewards);
  }

  /** The arms that are left after round r, from `average`, the mean of all agents' ȳ of `left`. */
  survivors(round: number, left: number[], observations: number, average: number[]): number[] {
    const best = Math.max(...average);
    const most = this.parameters.max_rounds;
    if (most != null && round >= most) return [left[average.indexOf(best)]];
    const width = 2 * this.radius(round, left.length, observations);
    return left.filter((_, place) => best - average[place] < width);
  }
}
