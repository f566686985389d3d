/** Decisions on live traffic: which arm a request gets, and its reward later. As docs/live.md has it. */

export type Idle = "" | "waits" | "over" | "person" | "crowded";

/** What a request is to be shown; `idle` says why its reward is not used. */
export interface Decision {
  id: string;
  arm: number;
  name: string;
  idle: Idle;
}

/** What became of one reward. */
export interface Told {
  used: boolean;
  refused?: "late" | "twice" | "unknown" | "range";
  why?: string;
}

export interface Reward {
  id: string;
  reward: number;
}

/** The agent did not answer, or refused; `status` is HTTP's, 0 if there was no answer. */
export class LiveError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A live agent's HTTP door. `address` as in http://127.0.0.1:8016; `token` if it asks for one. */
export class LiveAgent {
  constructor(
    private readonly address: string,
    private readonly token = "",
    private readonly timeout = 10_000,
  ) {}

  /** The arm for a request; a `person` whose decision is open gets the same one again. */
  ask(person = ""): Promise<Decision> {
    return this.call("POST", "/v1/ask", { person }) as Promise<Decision>;
  }

  /** Tell a decision's reward, once, whenever it is known; telling it again changes nothing. */
  async tell(decision: Decision | string, reward: number): Promise<Told> {
    const id = typeof decision === "string" ? decision : decision.id;
    const [told] = await this.tellAll([{ id, reward }]);
    if (told === undefined) throw new LiveError(0, "the agent answered nothing");
    return told;
  }

  /** Tell many rewards at once; what became of each, in their order. */
  tellAll(rewards: Reward[]): Promise<Told[]> {
    return this.call("POST", "/v1/rewards", rewards) as Promise<Told[]>;
  }

  private async call(method: string, path: string, body: unknown): Promise<unknown> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    let reply: Response;
    try {
      reply = await fetch(this.address + path, {
        method,
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(this.timeout),
      });
    } catch (error) {
      throw new LiveError(0, `${this.address} did not answer: ${String(error)}`);
    }
    const answer: unknown = await reply.json();
    if (reply.ok || reply.status === 409) return answer;
    const details = (answer as { errorDetails?: string }).errorDetails;
    throw new LiveError(reply.status, details ?? `HTTP ${reply.status}`);
  }
}
