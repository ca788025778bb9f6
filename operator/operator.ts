import type { Logger } from 'pino'
import { createClusterOperator } from './cluster-operator.ts'
import type { OperatorConfig } from './config.ts'
import { createFolderOperator } from './folder-operator.ts'

export type Operator = AsyncDisposable & {
  /** Resolves when it does its work, with what is worth saying about it. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>
}

/** Brings manifests into the control plane: from a folder, or from a cluster. */
export async function createOperator(deps: { config: OperatorConfig; log: Logger }): Promise<Operator> {
  const { config, log } = deps
  if (config.mode === 'folder') {
    const operator = createFolderOperator({ config, log })
    return {
      ready: operator.firstPass.then(({ applied, problems }) => ({ applied, problems: problems.length })),
      async [Symbol.asyncDispose]() {
        operator[Symbol.dispose]()
      },
    }
  }
  const operator = await createClusterOperator({ config, log })
  return {
    ready: operator.synced.then(() => ({ health_port: operator.healthPort })),
    [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose](),
  }
}
