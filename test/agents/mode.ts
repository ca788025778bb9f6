import type { AgentProgram } from './program.ts'

/** How a program is run. */
export type Mode = {
  readonly id: string
  readonly title: string
  readonly isCaptured?: boolean
  readonly refused?: 'tool' | 'model'
  /** Seconds from the question to the approval. */
  readonly heldSeconds?: number
}

export const MODES: readonly Mode[] = [
  { id: 'plain', title: 'plain' },
  { id: 'captured', title: 'captured', isCaptured: true },
  { id: 'tool-refused', title: 'tool refused', refused: 'tool' },
  { id: 'model-refused', title: 'model refused', refused: 'model' },
  { id: 'held-5', title: 'held 5 s', heldSeconds: 5 },
  { id: 'held-70', title: 'held 70 s', heldSeconds: 70 },
]

/** Name of the cell, and of its agent. */
export function cellOf(program: AgentProgram, mode: Mode): string {
  return `${mode.id}-${program.id}`
}

/** Whether the program has what the mode refuses. A program without tools is held at its model call. */
export function fits(program: AgentProgram, { refused }: Mode): boolean {
  if (refused === 'tool') return program.tool !== null
  if (refused === 'model') return program.model !== null
  return true
}
