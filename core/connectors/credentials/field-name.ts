/** Returns the field name that lenient servers read: some treat `token[]` and ` Token` as `token`. */
export function fieldOf(name: string): string {
  const bracket = name.indexOf('[')
  return (bracket === -1 ? name : name.slice(0, bracket)).trim().toLowerCase()
}
