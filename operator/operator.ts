import type { Logger } from 'pino'
import { createClusterOperator } from './cluster/cluster-operator.ts'
import type { OperatorConfig } from './config.ts'
import { createFolderOperator } from './folder/folder-operator.ts'
import { injectionCompanion } from './inject/admission-component.ts'
import type { InjectionConfig } from './inject/config.ts'

export type Operator = AsyncDisposable & {
  /** Resolves when it does its work, with what is worth saying about it. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>
}

export type OperatorDeps = {
  readonly config: OperatorConfig
  /** Null = no pods are injected. */
  readonly injection: InjectionConfig | null
  readonly log: Logger
}

/** Brings manifests into the control plane: from a folder, or from a cluster. */
export async function createOperator({ config, injection, log }: OperatorDeps): Promise<Operator> {
  if (config.mode === 'folder') {
    const operator = createFolderOperator({ config, log })
    return {
      ready: operator.firstPass.then(({ applied, problems }) => ({ applied, problems: problems.length })),
      async [Symbol.asyncDispose]() {
        operator[Symbol.dispose]()
      },
    }
  }
  const companions = injection === null ? [] : [injectionCompanion(injection)]
  const operator = await createClusterOperator({ config, log, companions })
  return {
    ready: operator.synced.then(() => ({ health_port: operator.healthPort })),
    [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose](),
  }
}
