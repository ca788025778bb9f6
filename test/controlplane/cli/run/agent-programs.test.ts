import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AGENT_PROGRAMS, agentProgramOf } from '../../../../controlplane/cli/run/agent-programs.ts'
import { starterNotice } from '../../../../controlplane/cli/run/run-notices.ts'
import { pageSnippets } from '../../../support/page-snippets.ts'

let dir: string
const SCRIPTS: Readonly<Record<string, readonly [text: string, starter: string | null]>> = {
  'graph.py': ['import os\nfrom langgraph.graph import StateGraph\n', 'langgraph'],
  'graph-plain.py': ['import langgraph\n', 'langgraph'],
  'graph.mjs': ['import { StateGraph } from "@langchain/langgraph"\n', 'langgraph'],
  'graph-sub.ts': ["import { x } from '@langchain/langgraph/prebuilt'\n", 'langgraph'],
  'graph.cjs': ["const { StateGraph } = require('@langchain/langgraph')\n", 'langgraph'],
  'agents.py': ['from agents import Agent, Runner\n', 'openai-agents'],
  'agents-lines.py': ['from agents import (\n    Agent,\n)\n', 'openai-agents'],
  'agents.mjs': ["import { Agent } from '@openai/agents'\n", 'openai-agents'],
  'agents-dynamic.mjs': ["const sdk = await import('@openai/agents')\n", 'openai-agents'],
  'crew.py': ['from crewai import Crew\n', 'crewai'],
  'claude.ts': ["import { query } from '@anthropic-ai/claude-agent-sdk'\n", 'claude-code'],
  'claude.py': ['from claude_agent_sdk import query\n', 'claude-code'],
  'own-agents.py': ['from agents import settings\nfrom agents.tools import x\n', null],
  'own-package.py': ['import agents\n', null],
  'comment.py': ['# from langgraph.graph import StateGraph\n', null],
  'text.py': ['print("from langgraph import x")\n', null],
  'prefix.py': ['import langgraph_helpers\nfrom crewaix import y\n', null],
  'text.mjs': ['console.log("@langchain/langgraph is nice")\n', null],
  'other.mjs': ["import x from '@langchain/langgraphs'\n", null],
  'empty.py': ['', null],
  'late.py': [`${'#'.repeat(70_000)}\nimport langgraph\n`, null],
  'binary.py': ['\u0000\u0001\uffff', null],
  'notes.txt': ['import langgraph\n', null],
}
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-programs-'))
  for (const [name, [text]] of Object.entries(SCRIPTS)) writeFileSync(join(dir, name), text)
  mkdirSync(join(dir, 'folder.py'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const starterOf = (line: string) => agentProgramOf(line.split(' '), dir)?.starter ?? null

describe('chaperone run recognizes', () => {
  test.each([
    ['claude', 'claude-code'],
    ['claude -p hello', 'claude-code'],
    ['/opt/bin/claude', 'claude-code'],
    ['./node_modules/.bin/claude', 'claude-code'],
    ['claude.cmd', 'claude-code'],
    ['npx @anthropic-ai/claude-code', 'claude-code'],
    ['npx -y @anthropic-ai/claude-code@latest -p hi', 'claude-code'],
    ['env ANTHROPIC_MODEL=x claude', 'claude-code'],
    ['timeout 60 claude -p hi', 'claude-code'],
    ['timeout 1.5h claude', 'claude-code'],
    ['nice -n 5 codex exec', 'codex'],
    ['nohup claude', 'claude-code'],
    ['poetry run crewai run', 'crewai'],
    ['node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -p hi', 'claude-code'],
    ['node node_modules/@google/gemini-cli/dist/index.js', 'gemini-cli'],
    ['codex exec hello', 'codex'],
    ['npx --yes @openai/codex@0.169.0', 'codex'],
    ['bunx @openai/codex', 'codex'],
    ['gemini', 'gemini-cli'],
    ['npx @google/gemini-cli', 'gemini-cli'],
    ['pnpm dlx opencode-ai', 'opencode'],
    ['opencode run x', 'opencode'],
    ['aider --model x', 'aider'],
    ['uvx --from aider-chat aider', 'aider'],
    ['uv tool run aider-chat==0.86.2', 'aider'],
    ['pipx run aider-chat', 'aider'],
    ['python -m aider', 'aider'],
    ['python3.12 -m crewai run', 'crewai'],
    ['crewai run', 'crewai'],
    ['langgraph dev', 'langgraph'],
    ['npx @langchain/langgraph-cli dev', 'langgraph'],
  ])('%s', (line, starter) => {
    expect(starterOf(line)).toBe(starter)
  })

  test.each(Object.entries(SCRIPTS))('what the script %s uses', (name, [, starter]) => {
    const runner = name.endsWith('.py') ? 'python3 -u' : 'node --enable-source-maps'
    expect(starterOf(`${runner} ${name}`)).toBe(starter)
    expect(starterOf(join(dir, name))).toBe(starter)
    expect(starterOf(`uv run ${name}`)).toBe(starter)
  })
})

describe('chaperone run does not recognize as an agent program', () => {
  test.each([
    'curl https://api.anthropic.com',
    'cat graph.py',
    'vim claude.ts',
    'grep -r claude',
    'echo codex',
    'sh',
    'true',
    'claudette',
    'my-claude',
    'python missing.py',
    'python folder.py',
    'python -c import langgraph',
    'npx @evil/claude',
    'npx @evil/codex',
    'npx anthropic-ai/claude-code-x',
    'npx',
    'uv run',
    'node',
    '--',
    '-claude',
    'git commit -m gemini',
  ])('%s', (line) => {
    expect(starterOf(line)).toBe(null)
  })

  test('an empty command', () => {
    expect(agentProgramOf([], dir)).toBe(null)
    expect(agentProgramOf([''], dir)).toBe(null)
  })
})

describe('the starter notice', () => {
  test.each(AGENT_PROGRAMS.map((program) => [program.name, program] as const))(
    'is one line for %s with the command that applies the starter, and null when it is present',
    (_name, program) => {
      const manifests = mkdtempSync(join(dir, 'manifests-'))
      const notice = starterNotice(program, { manifests, command: 'chaperone apply --data /d' })
      expect(notice).toMatch(
        new RegExp(
          `^chaperone: there is a starter policy for ${program.name}, .*: chaperone apply --data /d -f .*/starters/${program.starter}\\.yaml$`,
        ),
      )
      writeFileSync(join(manifests, `${program.starter}.yaml`), '')
      expect(starterNotice(program, { manifests, command: 'chaperone apply --data /d' })).toBe(null)
    },
  )

  test('is the message of docs/agent-programs.md', () => {
    const claude = AGENT_PROGRAMS.find(({ starter }) => starter === 'claude-code')
    if (claude === undefined) throw new Error('Claude Code is not an agent program')
    const notice = starterNotice(claude, { manifests: dir, command: 'chaperone apply' })
    // The page has no absolute path.
    expect([`${notice?.replace(/-f \S*\/starters\//, '-f …/starters/')}\n`]).toEqual(
      pageSnippets('agent-programs.md', ''),
    )
  })
})
