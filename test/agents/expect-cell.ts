import { expect } from 'vitest'
import type { Facts } from './facts.ts'
import { MODEL_REASON, TOOL_REASON } from './manifests.ts'
import { cellOf, type Mode } from './mode.ts'
import type { AgentProgram } from './program.ts'
import { CREATES_ISSUE } from './stand-in/script.ts'

/** Asserts by the records of the product and by what the stand-in saw; the message holds the output of the program. */
export function expectCell({ program, mode, facts }: Cell): void {
  const message = `${cellOf(program, mode)}:\n${facts.output}\n${JSON.stringify(facts.records, null, 1)}`
  expect(facts.ownKeys, message).toEqual([])
  expect(facts.around, message).toEqual([])
  const check = { program, facts, message }
  if (mode.refused === 'tool') expectRefusedTool(check)
  else if (mode.refused === 'model') expectRefusedModel(check)
  else if (mode.heldSeconds === undefined) expectAllowed(check)
  else expectHeld(check, mode.heldSeconds)
}

type Cell = { readonly program: AgentProgram; readonly mode: Mode; readonly facts: Facts }
type Check = { readonly program: AgentProgram; readonly facts: Facts; readonly message: string }

const isModelCall = ({ action_type }: { action_type: string | null }) =>
  /^llm_[abc]\.(response|chat|message|content)\./.test(action_type ?? '')

function expectAllowed({ program, facts, message }: Check): void {
  expect(facts.asked, message).toEqual([])
  expectFinished({ program, facts, message })
}

function expectFinished({ program, facts, message }: Check): void {
  expect(facts.exitCode, message).toBe(0)
  if (program.model !== null) {
    expect(facts.output, message).toContain('finished ')
    expect(facts.upstream.modelCalls, message).toBeGreaterThan(0)
    const names = facts.records.filter(isModelCall).map(({ action_type }) => action_type?.split('.')[0])
    expect(new Set(names), message).toEqual(new Set([program.model]))
  }
  if (program.tool === null) return
  expect(facts.output, message).toContain('4711')
  expect(facts.upstream.issues, message).toBe(1)
  const ofTool = facts.records.filter(({ action_type }) => action_type === program.tool)
  expect(
    ofTool.filter(({ decision }) => decision === 'ALLOW'),
    message,
  ).toHaveLength(1)
}

const isToolOffered = ({ upstream }: Facts): boolean =>
  upstream.offered.some((name) => CREATES_ISSUE.test(name))

/** A denied MCP tool is not offered at all, so that no model calls it. */
function expectRefusedTool({ program, facts, message }: Check): void {
  expect(facts.asked, message).toEqual([])
  expect(facts.upstream.issues, message).toBe(0)
  if (program.tool === 'mcp.tools.create_issue' && !isToolOffered(facts) && program.model !== null) return
  const output = program.model === null ? facts.output : facts.upstream.results.join('\n')
  expect(output, message).toContain(TOOL_REASON)
  const ofTool = facts.records.filter(({ action_type }) => action_type === program.tool)
  expect(new Set(ofTool.map(({ decision }) => decision)), message).toEqual(new Set(['DENY']))
}

function expectRefusedModel({ facts, message }: Check): void {
  expect(facts.asked, message).toEqual([])
  expect(facts.upstream.modelCalls, message).toBe(0)
  expect(facts.output.replace(/\s+/g, ' '), message).toContain(MODEL_REASON)
  const decisions = facts.records.filter(isModelCall).map(({ decision }) => decision)
  expect(new Set(decisions), message).toEqual(new Set(['DENY']))
}

/** Asked once and executed once, though some clients send the request again while it waits. */
function expectHeld({ program, facts, message }: Check, heldSeconds: number): void {
  expect(facts.asked, message).toHaveLength(1)
  expect(facts.seconds, message).toBeGreaterThanOrEqual(heldSeconds)
  expectFinished({ program, facts, message })
  expect(
    facts.records.filter(({ note }) => note === 'approved'),
    message,
  ).toHaveLength(1)
}
