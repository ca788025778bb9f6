import type { KubeClient } from '../kube/client.ts'

export type TaskContext = {
  readonly client: KubeClient
  /** The namespace in which Chaperone is installed. */
  readonly namespace: string
  /** The namespace in which the self-test creates pods by dry run. */
  readonly agentNamespace: string
  readonly signal: AbortSignal
  readonly print: (text: string) => void
}

/** Runs one task. Rejects with an error that names the problem and its remedy. */
export type Task = (context: TaskContext) => Promise<void>
