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
  /**
   * True for a stage without long synchronous work. The stage runner does not read the clock before such a stage, which
   * saves 0.2 us.
   */
  readonly isQuick?: boolean
  /**
   * Runs the stage. A promise of `undefined` stands for the next phase, so that many requests can share one promise.
   * `run` is a property and not a method, because TypeScript compares the parameters of methods less strictly: a stage
   * could then require a later phase than the one that it receives.
   */
  readonly run: (exchange: In) => Eventual<Next> | Promise<undefined>
}
