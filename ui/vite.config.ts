import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The built files go into the Python package: a wheel holds them, git does not.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/podium/server/ui",
    emptyOutDir: true,
    chunkSizeWarningLimit: 900,
  },
  // `npm run dev` beside `podium serve`: the server wants its own name as Host and Origin.
  server: { proxy: { "/api": { target: "http://127.0.0.1:8321", changeOrigin: true } } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
