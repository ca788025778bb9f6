import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { LineCounter } from 'yaml'
import { ZodError } from 'zod'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { readYamlDocuments, TOO_DEEP } from '../../../core/crd/manifests/yaml-documents.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { fieldPath } from '../../../core/field-path.ts'
import type { InjectGateway } from '../../../core/inject/options.ts'
import { podOf, type WorkloadPod } from '../../../core/inject/workload.ts'
import { usageError } from '../arguments.ts'
import { type Invocation, text } from '../command.ts'
import { checkManifest, readManifestFiles } from './manifest-files.ts'

export type GatewaySource = {
  readonly gateways: readonly InjectGateway[]
  /** Gateway of the pods that have no gateway annotation. */
  readonly preset: string | undefined
  /** Name of the Gateway that gets the default settings because it has no manifest. */
  readonly assumed?: string
}

/**
 * Reads the option `--gateway`. The value is the path of a file if such a file exists, otherwise the name of a
 * Gateway.
 */
export function gatewaysFromOption(invocation: Invocation, namespace: string): GatewaySource {
  const given = text(invocation, 'gateway')
  if (given === undefined) return { gateways: [], preset: undefined }
  if (existsSync(resolve(invocation.cwd, given))) return fromFile(invocation, given, namespace)
  const [name = ''] = given.split('/').slice(-1)
  if (!/^([a-z0-9][-a-z0-9]*\/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(given))
    throw usageError(
      { name: 'inject' },
      `--gateway ${given} is neither an existing file nor the name of a Gateway.`,
    )
  return { gateways: [], preset: given, assumed: name }
}

/** Returns a Gateway with default settings that admits agents of namespace `by`. */
export function gatewayWithDefaults(namespace: string, name: string, by: string): InjectGateway {
  const allowedNamespaces = { agents: { from: 'Selector', names: [by] } }
  return { namespace, name, spec: GatewaySpec.parse({ allowedNamespaces }) }
}

function fromFile(invocation: Invocation, name: string, namespace: string): GatewaySource {
  const gateways = readManifestFiles([name], invocation.cwd).flatMap((file) => {
    const { problems } = checkManifest(file)
    if (problems.length > 0) throw new ChaperoneError('conflict', { detail: problems.join('\n') })
    return gatewaysIn(file.text, namespace)
  })
  const [gateway] = gateways
  if (gateway === undefined) throw usageError({ name: 'inject' }, `${name} does not contain a Gateway.`)
  const reference = gateway.namespace === namespace ? gateway.name : `${gateway.namespace}/${gateway.name}`
  return { gateways, preset: gateways.length === 1 ? reference : undefined }
}

/** Returns the Gateways in a file. `namespace`: namespace of a Gateway whose manifest has no namespace. */
export function gatewaysIn(content: string, namespace: string): InjectGateway[] {
  return checkManifest({ path: '', text: content }).resources.flatMap((resource) =>
    resource.kind === 'Gateway'
      ? [
          {
            namespace: resource.metadata.namespace ?? namespace,
            name: resource.metadata.name,
            spec: resource.spec,
          },
        ]
      : [],
  )
}

/** Returns the pods and workloads in a file. */
export function podsIn(content: string, file: string): WorkloadPod[] {
  const lines = new LineCounter()
  const { documents, tooDeepAt } = readYamlDocuments(content, lines)
  if (tooDeepAt !== null)
    throw new ChaperoneError('conflict', {
      detail: `${file}:${lines.linePos(tooDeepAt).line}: ${TOO_DEEP}`,
    })
  return documents.flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined)
      throw new ChaperoneError('conflict', {
        detail: `${file}: not valid YAML: ${error.message.split('\n')[0]}`,
      })
    try {
      const found = podOf(withoutNulls(document.toJS()))
      return found === null ? [] : [found]
    } catch (problem) {
      if (!(problem instanceof ZodError)) throw problem
      const issues = problem.issues.map(({ path, message }) => `${file}: ${fieldPath(path)}: ${message}`)
      throw new ChaperoneError('conflict', { detail: issues.join('\n') })
    }
  })
}

/** Removes keys whose value is null, because the API server treats `key: null` as an absent key. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]))
}
