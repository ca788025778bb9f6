import type { Around } from '../inside/trap.ts'

/** A walk through the documents in a clone whose packages are installed. */
export type WalkOrder = {
  readonly clone: string
  /** Home folder of the newcomer. */
  readonly home: string
  /** Folders for PATH that hold the agent programs. */
  readonly programs: readonly string[]
  /** `npm start` first. */
  readonly commands: readonly string[]
}

/** What one command did. */
export type Step = {
  readonly command: string
  readonly exitCode: number
  readonly seconds: number
  readonly output: string
}

export type WalkOutcome = {
  readonly steps: readonly Step[]
  readonly around: readonly Around[]
  /** Model calls and issues that the stand-in saw. */
  readonly modelCalls: number
  readonly issues: number
  /** Lines of `chaperone traffic` at the end. */
  readonly traffic: string
}
