import { CONTAINER, type FoundMembers } from '../../request/json/member-finder.ts'
import { endsWith, isTool, rowOf } from './read.ts'
import type { CompiledTable } from './table.ts'

/** Returns the number of tools in a request that the caller executes itself (function tools). */
export function countFunctionTools(table: CompiledTable, found: readonly FoundMembers[]): number {
  let count = 0
  for (const one of found) count += elementsOfCaller(table, one) + toolOfCaller(table, one)
  return Math.max(0, count)
}

function elementsOfCaller(table: CompiledTable, { members, place }: FoundMembers): number {
  const elements = members.get('*')
  return elements !== undefined && isListOfCaller(table, place) ? objectsIn(elements) : 0
}

/**
 * Returns the change of the count for a tool with a type: plus 1 if the caller executes tools of the type, and minus 1
 * if `elementsOfCaller` has already counted the tool.
 */
function toolOfCaller(table: CompiledTable, { members, place }: FoundMembers): number {
  // `tool_choice.tools` repeats tools that the request declares elsewhere, so they are not counted again.
  if (!members.has('type') || place.includes('tool_choice') || !isTool(table, place)) return 0
  const isOfCaller = rowOf(table.tools, String(members.get('type')))?.isOfCaller === true
  return (isOfCaller ? 1 : 0) - (isListOfCaller(table, place.slice(0, -1)) ? 1 : 0)
}

function isListOfCaller({ callerTools }: CompiledTable, place: readonly string[]): boolean {
  for (const list of callerTools) if (endsWith(place, list)) return true
  return false
}

function objectsIn(elements: unknown): number {
  let count = 0
  if (Array.isArray(elements)) for (const element of elements) if (element === CONTAINER) count += 1
  return count
}
