/** Where rewards come from. */

/** One reward of this arm, in [0, 1]. */
export type Arms = (arm: number) => number;

/** Arms of kind "bernoulli", which give 1 with probability `means[arm]`, else 0. */
export function bernoulli(means: number[]): Arms {
  return (arm) => (Math.random() < means[arm] ? 1 : 0);
}

/** A draw of Laplace noise. Of the lab's kind: its low bits give away what it hides. */
export function laplace(scale: number): number {
  return scale * Math.log((1 - Math.random()) / (1 - Math.random()));
}
