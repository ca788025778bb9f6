/** Result of a stage: the exchange in its next phase, or `responded` when the stage has sent the response. */
export type StageResult<Next> = Next | 'responded'

/** Result of a stage, or a promise of it. */
export type Eventual<Next> = StageResult<Next> | Promise<StageResult<Next>>

/**
 * One stage of a request: takes the exchange in phase `In`, and returns the exchange in phase `Next` or sends the
 * response.
 */
export type Stage<In, Next> = {
  readonly name: string
  /** True for a stage without long synchronous work. The clock is not read for it, which saves 0.2 us. */
  readonly isQuick?: boolean
  /**
   * Runs the stage. A promise of `undefined` stands for the next phase, so that many requests can share one promise.
   * `run` is a property and not a method, because only then does the compiler check that the stage requires no later
   * phase than it is given.
   */
  readonly run: (exchange: In) => Eventual<Next> | Promise<undefined>
}
