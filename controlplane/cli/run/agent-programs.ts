import { closeSync, openSync, readSync } from 'node:fs'
import { basename, resolve } from 'node:path'

/** An agent program with a starter policy, `starters/STARTER.yaml`. */
export type AgentProgram = {
  readonly name: string
  readonly starter: string
  /** Commands that start the program. */
  readonly commands: readonly string[]
  /** Names of the program's packages, for launchers such as npx and uvx. */
  readonly packages: readonly string[]
  /** Matches the import of the program's package in the source of a script. */
  readonly imports?: RegExp
}

export const AGENT_PROGRAMS: readonly AgentProgram[] = [
  program('Claude Code', 'claude-code', ['claude'], ['@anthropic-ai/claude-code'], {
    js: '@anthropic-ai/claude-agent-sdk',
    py: 'claude_agent_sdk',
  }),
  program('Codex', 'codex', ['codex'], ['@openai/codex'], { js: '@openai/codex-sdk' }),
  program('Gemini CLI', 'gemini-cli', ['gemini'], ['@google/gemini-cli']),
  program('OpenCode', 'opencode', ['opencode'], ['opencode-ai'], { js: '@opencode-ai/sdk' }),
  program('Aider', 'aider', ['aider'], ['aider-chat', 'aider-install']),
  program(
    'LangGraph',
    'langgraph',
    ['langgraph', 'langgraphjs'],
    ['langgraph-cli', '@langchain/langgraph-cli'],
    {
      js: '@langchain/langgraph',
      py: 'langgraph',
    },
  ),
  {
    ...program('The OpenAI Agents SDK', 'openai-agents', [], []),
    // Other packages may have the same Python name, so the script must also import one of the package's classes.
    imports:
      /["']@openai\/agents(?:\/[\w/-]*)?["']|^\s*from\s+agents\s+import\s[^#;]{0,200}\b(?:Agent|Runner)\b/m,
  },
  program('CrewAI', 'crewai', ['crewai'], ['crewai'], { py: 'crewai' }),
]

/** Programs that start another program, which one of their arguments names. */
const LAUNCHERS = new Set([
  'npx',
  'bunx',
  'pnpm',
  'pnpx',
  'yarn',
  'npm',
  'uvx',
  'uv',
  'pipx',
  'env',
  'command',
  'sudo',
  'timeout',
  'nice',
  'nohup',
  'time',
  'poetry',
])
const INTERPRETERS = /^(node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|uv|pypy[\d.]*)$/
const SCRIPT = /\.([cm]?[jt]sx?|py)$/
const HEAD_BYTES = 64 * 1024

/**
 * Returns the agent program that a command starts, or null. Reads at most the beginning of one script file.
 */
export function agentProgramOf(command: readonly string[], cwd: string): AgentProgram | null {
  const words = command.filter((word) => !/^(-|[A-Za-z_]\w*=)/.test(word))
  const first = basename(words[0] ?? '')
  return programOf(first) ?? launchedProgram(first, words.slice(1)) ?? programOfScript(scriptIn(words), cwd)
}

/**
 * Returns the agent program that a launcher starts, as in `npx -y PACKAGE`, `uvx --from PACKAGE COMMAND` or `python -m
 * MODULE`; null for any other program.
 */
function launchedProgram(launcher: string, words: readonly string[]): AgentProgram | null {
  if (!LAUNCHERS.has(launcher) && !INTERPRETERS.test(launcher)) return null
  const word = words.find((each) => !VERBS.has(each) && !AMOUNT.test(each)) ?? ''
  return programOfPackage(word) ?? (word.startsWith('@') ? null : programOf(basename(word)))
}

/**
 * Returns the path of the script in a command: the first word, or an argument of an interpreter. Returns null when
 * the command runs no script.
 */
function scriptIn(words: readonly string[]): string | null {
  const at = words.findIndex((word) => SCRIPT.test(word))
  const isRun = at === 0 || words.slice(0, at).some((word) => INTERPRETERS.test(basename(word)))
  return isRun ? (words[at] ?? null) : null
}

/** Matches the duration argument of `timeout` and the priority argument of `nice`. */
const AMOUNT = /^[\d.]+[smhd]?$/
/** Subcommands of launchers, which precede the name of the program. */
const VERBS = new Set(['exec', 'x', 'dlx', 'run', 'tool'])

function programOf(name: string): AgentProgram | null {
  const bare = name.replace(/\.(exe|cmd|ps1|mjs|js|py)$/, '')
  return AGENT_PROGRAMS.find(({ commands }) => commands.includes(bare)) ?? null
}

/** Returns the agent program of a package: `@scope/name@version`, `name==version` or `name[extra]`. */
function programOfPackage(word: string): AgentProgram | null {
  const bare = word.replace(/(?<=.)@.*$|[=<>~[].*$/, '')
  return AGENT_PROGRAMS.find(({ packages }) => packages.includes(bare)) ?? null
}

const IN_PACKAGE = /(?:^|[\\/])node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/](?!.*[\\/]node_modules[\\/])/

function programOfScript(script: string | null, cwd: string): AgentProgram | null {
  if (script === null) return null
  const installed = programOfPackage((IN_PACKAGE.exec(script)?.[1] ?? '').replace('\\', '/'))
  if (installed !== null) return installed
  const text = headOf(resolve(cwd, script))
  return AGENT_PROGRAMS.find(({ imports }) => imports?.test(text) === true) ?? null
}

function headOf(file: string): string {
  try {
    const descriptor = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(HEAD_BYTES)
      return bytes.toString('utf8', 0, readSync(descriptor, bytes))
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    // Ignores a script that cannot be read, because the command itself reports the error.
    if (error instanceof Error && 'code' in error) return ''
    throw error
  }
}

type Imports = { readonly js?: string; readonly py?: string }

function program(
  name: string,
  starter: string,
  commands: readonly string[],
  ...[packages, imports]: readonly [readonly string[], Imports?]
): AgentProgram {
  const base = { name, starter, commands, packages }
  return imports === undefined ? base : { ...base, imports: importsOf(imports) }
}

function importsOf({ js, py }: Imports): RegExp {
  const patterns = [
    ...(js === undefined ? [] : [`(?:from|import|require\\()\\s*["']${js}(?:/[\\w/-]*)?["']`]),
    ...(py === undefined ? [] : [`^\\s*(?:from\\s+${py}(?:\\.[\\w.]+)?\\s+import\\b|import\\s+${py}\\b)`]),
  ]
  return new RegExp(patterns.join('|'), 'm')
}
