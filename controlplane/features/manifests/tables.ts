const WRITES =
  /\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate(?:\s+table)?|copy)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(?:gateways|connectors|permissions|policies)"?(?![\w"])/i

/** Reports whether a statement writes rows of Gateways, Connectors, Permissions or Policies. */
export function writesConfiguration(statement: string): boolean {
  return WRITES.test(statement)
}
