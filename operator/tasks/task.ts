import type { KubeClient } from '../kube/client.ts'

export type TaskContext = {
  readonly client: KubeClient
  /** Where Chaperone runs. */
  readonly namespace: string
  /** Where the self-test's pods would run. */
  readonly agentNamespace: string
  readonly signal: AbortSignal
  readonly say: (text: string) => void
}

/** Rejects with what went wrong and what to change. */
export type Task = (context: TaskContext) => Promise<void>
