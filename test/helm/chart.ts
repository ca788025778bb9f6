import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { kubeTools } from '../cluster/tools/kube-tools.ts'

const run = promisify(execFile)
export const CHART = join(import.meta.dirname, '../../helm')
/** The least that the chart asks for. */
export const LEAST = ['--set', 'database.urlSecret.name=database']

export type Resource = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly rules?: readonly Rule[]
  readonly spec?: Readonly<Record<string, unknown>>
}

export type Rule = {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

export type PodSpec = {
  readonly hostNetwork?: boolean
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean
    readonly seccompProfile?: { readonly type: string }
  }
  readonly volumes?: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
}

export type Container = {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string }>
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean
    readonly readOnlyRootFilesystem?: boolean
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] }
  }
}

/** Null where there is no helm, and no way to get one. */
export const helmProgram: string | null = (await kubeTools())?.helm ?? null

/** Standard output of helm; rejects with what it complained about. */
export async function helm(...args: readonly string[]): Promise<string> {
  if (helmProgram === null) throw new Error('no helm')
  const { stdout } = await run(helmProgram, args, { maxBuffer: 32 * 1024 * 1024 })
  return stdout
}

export function template(...args: readonly string[]): Promise<string> {
  return templateOf(CHART, ...args)
}

export function resources(...args: readonly string[]): Promise<readonly Resource[]> {
  return resourcesOf(CHART, ...args)
}

function templateOf(chart: string, ...args: readonly string[]): Promise<string> {
  return helm('template', 'chaperone', chart, '--namespace', 'chaperone-system', ...args)
}

/** The resources that a chart makes: a folder, or a package. */
export async function resourcesOf(chart: string, ...args: readonly string[]): Promise<readonly Resource[]> {
  const text = await templateOf(chart, ...args)
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Resource | null)
    .filter((resource) => resource !== null)
}

/** The pods that a chart makes, whatever makes them. */
export function podsOf(
  all: readonly Resource[],
): ReadonlyArray<{ readonly name: string; readonly spec: PodSpec }> {
  return all.flatMap(({ kind, metadata: { name }, spec = {} }) => {
    const found = podSpec(kind, spec)
    return found === null ? [] : [{ name: `${kind} ${name}`, spec: found }]
  })
}

type Template = { readonly template: { readonly spec: PodSpec } }

function podSpec(kind: string, spec: unknown): PodSpec | null {
  switch (kind) {
    case 'Pod':
      return spec as PodSpec
    case 'Deployment':
    case 'StatefulSet':
    case 'Job':
      return (spec as Template).template.spec
    case 'CronJob':
      return (spec as { readonly jobTemplate: { readonly spec: Template } }).jobTemplate.spec.template.spec
    default:
      return null
  }
}
