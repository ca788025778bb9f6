import manifest from '../../package.json' with { type: 'json' }

/** `1.2.3`. */
export const VERSION: string = manifest.version
