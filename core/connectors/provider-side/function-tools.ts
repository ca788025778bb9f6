import { CONTAINER, type FoundMembers } from '../../request/json/member-finder.ts'
import { endsWith, isTool, rowOf } from './read.ts'
import type { CompiledTable } from './table.ts'

/** Returns the number of tools in a request that the caller executes itself (function tools). */
export function countFunctionTools(table: CompiledTable, found: readonly FoundMembers[]): number {
  let count = 0
  for (const { members, place } of found) {
    const elements = members.get('*')
    if (elements !== undefined && isListOfCaller(table, place)) count += objectsIn(elements)
    if (!members.has('type') || !isTool(table, place)) continue
    const isOfCaller = rowOf(table.tools, String(members.get('type')))?.isOfCaller === true
    // The elements of a list of the caller are counted above, whatever their type.
    count += (isOfCaller ? 1 : 0) - (isListOfCaller(table, place.slice(0, -1)) ? 1 : 0)
  }
  return Math.max(0, count)
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
