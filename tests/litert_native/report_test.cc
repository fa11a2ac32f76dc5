// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/report.h"

#include <gtest/gtest.h>

#include <list>
#include <string>

namespace halyard::litert {
namespace {

ReportedGraph oneGraph() {
    ReportedGraph graph;
    graph.operators = 2;
    graph.taken = 1;
    graph.backends = {"CpuAcc"};
    graph.parts.push_back({.isTaken = true,
                           .inputs = {"a \"quoted\"\n\\name"},
                           .outputs = {"y"},
                           .operators = {"ADD"},
                           .nodes = {{"CpuAcc", 1}}});
    graph.left.push_back(
            {.label = "operator 1 (WHERE)", .reason = "the engine has no such operator"});
    return graph;
}

TEST(DelegateReport, EscapesNamesOfModels) {
    const std::string json = jsonOf(std::list<ReportedGraph>{oneGraph()});
    EXPECT_NE(json.find(R"(["a \"quoted\"\u000a\\name"])"), std::string::npos) << json;
    EXPECT_NE(json.find("\"copied_bytes\": null"), std::string::npos) << json;
}

TEST(DelegateReport, SaysWhatIsLeftAndWhy) {
    ReportedGraph graph = oneGraph();
    graph.parts.front().copiedBytes = 64;
    const std::string text = textOf(std::list<ReportedGraph>{graph});
    EXPECT_NE(text.find("1 of 2 operators in 1 partition\n"), std::string::npos) << text;
    EXPECT_NE(text.find("1 operator, 1 node on CpuAcc, 64 bytes copied by a run"),
              std::string::npos)
            << text;
    EXPECT_NE(text.find("left  operator 1 (WHERE): the engine has no such operator"),
              std::string::npos)
            << text;
}

}  // namespace
}  // namespace halyard::litert
