import type { Logger } from 'pino'
import { createClusterOperator } from './cluster/cluster-operator.ts'
import type { OperatorConfig } from './config.ts'
import { createFolderOperator } from './folder/folder-operator.ts'
import { admissionComponent } from './inject/admission-component.ts'
import type { InjectionConfig } from './inject/config.ts'

export type Operator = AsyncDisposable & {
  /** Resolves when the operator is running, with fields for the log line. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>
}

export type OperatorDeps = {
  readonly config: OperatorConfig
  /** Settings of the injector; null when no pods are injected. */
  readonly injection: InjectionConfig | null
  readonly log: Logger
}

/** Reconciles manifests into the control plane, from a folder or from a cluster. */
export async function createOperator({ config, injection, log }: OperatorDeps): Promise<Operator> {
  if (config.mode === 'folder') {
    const operator = createFolderOperator({ config, log })
    return {
      ready: operator.firstResult.then(({ applied, problems }) => ({ applied, problems: problems.length })),
      [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose](),
    }
  }
  const openAdmission = injection === null ? null : admissionComponent(injection)
  const operator = await createClusterOperator({ config, log, openAdmission })
  return {
    ready: operator.synced.then(() => ({ health_port: operator.healthPort })),
    [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose](),
  }
}
