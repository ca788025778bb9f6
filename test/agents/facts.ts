/** What happened in one cell, as the product recorded it and as the stand-in saw it. */
export type Facts = {
  readonly exitCode: number
  readonly seconds: number
  /** The end of both outputs. */
  readonly output: string
  readonly upstream: {
    readonly modelCalls: number
    readonly streamedModelCalls: number
    readonly issues: number
    readonly offered: readonly string[]
    readonly results: readonly string[]
  }
  /** Action types of the questions that an approver got. */
  readonly asked: readonly string[]
  readonly records: readonly TrafficRow[]
  /** Requests upstream with a key of the agent's own. */
  readonly ownKeys: readonly string[]
  /** Connections that went around the gateway. */
  readonly around: readonly string[]
}

export type TrafficRow = {
  readonly action_type: string | null
  readonly decision: string
  readonly status: number | null
  readonly note: string | null
  readonly host: string | null
  readonly path: string | null
}
