/** Processor architectures of the released image, by Debian's and OCI's name. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]
