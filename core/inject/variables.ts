import {
  type ClientTrust,
  JAVA_OPTIONS_VARIABLE,
  javaOptions,
  PLACEHOLDER_KEYS,
  proxyVariables,
  trustVariables,
} from '../capture/client-variables.ts'
import { POD_PORTS, TRUST_FILES, VOLUMES } from '../capture/pod-contract.ts'
import type { Container, EnvVar } from './pod.ts'

const at = (file: string) => `${VOLUMES.trust.path}/${file}`
const TRUST: ClientTrust = {
  caFile: at(TRUST_FILES.own),
  bundleFile: at(TRUST_FILES.bundle),
  wgetrcFile: at(TRUST_FILES.wgetrc),
}
const PROXY_URL = `http://127.0.0.1:${POD_PORTS.proxy}`
const PROXY_NAMES = Object.keys(proxyVariables(PROXY_URL))
/**
 * Variable for the pod's own Java options if they come from a ConfigMap or Secret. The kubelet resolves their values,
 * so the injector cannot merge them.
 */
const GIVEN_JAVA = `CHAPERONE_GIVEN_${JAVA_OPTIONS_VARIABLE}`

export type Interception = 'transparent' | 'proxyEnv'

/**
 * Sets every variable that clients need. Existing values of Java options are merged, all others are replaced. In
 * transparent mode, removes all proxy variables, because the proxies in them are not reachable.
 */
export function withClientVariables(container: Container, interception: Interception): Container {
  const proxied = interception === 'proxyEnv' ? proxyVariables(PROXY_URL) : {}
  const wanted = { ...proxied, ...trustVariables(TRUST) }
  const given = interception === 'proxyEnv' ? (container.env ?? []) : withoutProxies(container.env ?? [])
  return { ...container, env: withPlaceholders(container, withJava(replace(given, wanted), interception)) }
}

/** Returns warnings about replaced and removed variables of the container, for the user who applied the pod. */
export function variableWarnings(
  container: Container,
  path: string,
  interception: Interception,
): readonly string[] {
  const trusted = trustVariables(TRUST)
  return (container.env ?? []).flatMap(({ name, value }, index) => {
    const field = `${path}.env[${index}]`
    const isOurs =
      value !== undefined &&
      (value === valueFor(trusted, name) || value === valueFor(proxyVariables(PROXY_URL), name))
    if (isOurs) return []
    if (Object.hasOwn(trusted, name))
      return [
        `${field}: ${name} is replaced by the trust file of the sidecar; to keep its certificate authorities, put them into the Secret that spec.trust.extraSecretRef of the Gateway names`,
      ]
    if (!PROXY_NAMES.includes(name)) return []
    return [
      interception === 'transparent'
        ? `${field}: ${name} is removed, because traffic is captured without proxy variables`
        : `${field}: ${name} is replaced by the address of the sidecar`,
    ]
  })
}

function withoutProxies(env: readonly EnvVar[]): readonly EnvVar[] {
  return env.filter(({ name }) => !PROXY_NAMES.includes(name))
}

/** Sets the wanted variables. Existing variables keep their position, because a variable may refer to earlier ones. */
function replace(env: readonly EnvVar[], wanted: Readonly<Record<string, string>>): readonly EnvVar[] {
  const seen = new Set<string>()
  const kept = env.flatMap((variable) => {
    const value = valueFor(wanted, variable.name)
    if (value === undefined) return [variable]
    if (seen.has(variable.name)) return []
    seen.add(variable.name)
    return [{ name: variable.name, value }]
  })
  const missing = Object.entries(wanted).filter(([name]) => !seen.has(name))
  return [...kept, ...missing.map(([name, value]) => ({ name, value }))]
}

/**
 * Returns the value for a variable; undefined if there is none. Only own properties count, because the name may be
 * `constructor`.
 */
function valueFor(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function withJava(env: readonly EnvVar[], interception: Interception): readonly EnvVar[] {
  const options = javaOptions({
    trustStore: { file: at(TRUST_FILES.java), password: TRUST_FILES.javaPassword },
    proxyUrl: interception === 'proxyEnv' ? PROXY_URL : undefined,
  })
  const given = env.findLast(({ name }) => name === JAVA_OPTIONS_VARIABLE)
  const others = env.filter(({ name }) => name !== JAVA_OPTIONS_VARIABLE)
  if (given?.value?.includes(options)) return env
  if (given === undefined) return [...env, { name: JAVA_OPTIONS_VARIABLE, value: options }]
  if (given.valueFrom === undefined) {
    const value = [given.value, options].filter(Boolean).join(' ')
    return [...others, { name: JAVA_OPTIONS_VARIABLE, value }]
  }
  return [...others, ...fromElsewhere(given, options)]
}

/**
 * Returns the variables with the Java options of a container that takes these options from a ConfigMap or Secret. Drops
 * an optional reference, because Java would get an unresolved reference as the literal text `$(…)`.
 */
function fromElsewhere(given: EnvVar, options: string): readonly EnvVar[] {
  const isOptional = Object.values(given.valueFrom ?? {}).some(({ optional }) => optional === true)
  if (isOptional) return [{ name: JAVA_OPTIONS_VARIABLE, value: options }]
  return [
    { ...given, name: GIVEN_JAVA },
    { name: JAVA_OPTIONS_VARIABLE, value: `$(${GIVEN_JAVA}) ${options}` },
  ]
}

/**
 * Adds placeholder keys where a variable is unset. Adds none to a container with `envFrom`: the injector cannot read
 * the variable names in the ConfigMap or Secret, and a placeholder would override a real key.
 */
function withPlaceholders(container: Container, env: readonly EnvVar[]): EnvVar[] {
  if ((container.envFrom ?? []).length > 0) return [...env]
  const isUnset = ({ name, value, valueFrom }: EnvVar) =>
    Object.hasOwn(PLACEHOLDER_KEYS, name) && !value && valueFrom === undefined
  const set = env.filter((variable) => !isUnset(variable))
  const names = new Set(set.map(({ name }) => name))
  const missing = Object.entries(PLACEHOLDER_KEYS).filter(([name]) => !names.has(name))
  return [...set, ...missing.map(([name, value]) => ({ name, value }))]
}
