import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import weka.classifiers.AbstractClassifier;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.Utils;
import weka.filters.Filter;
import weka.filters.unsupervised.attribute.ReplaceMissingValues;

/**
 * Train Weka's classifiers on ranges of rows and write the probability of class "1".
 *
 * <p>Arguments: a data set (ARFF, class last), a list of work, the file to write. The list has
 * lines "test RANGES", "pair RANGES RANGES" (rows that train, rows that calibrate) and
 * "classifier CLASS OPTIONS"; RANGES are like 0:4000,4500:5000. For each classifier and each
 * pair one line is written: all digits of the scores of the rows that calibrate, then of those
 * that test. Missing values become the modes and means of the rows that train.
 */
public final class Scores {
  public static void main(String[] args) throws Exception {
    Instances data = read(Path.of(args[0]));
    List<String> test = List.of();
    List<String[]> pairs = new ArrayList<>();
    List<String> classifiers = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(args[1]))) {
      String[] words = line.split(" ", 2);
      switch (words[0]) {
        case "test" -> test = List.of(words[1]);
        case "pair" -> pairs.add(words[1].split(" "));
        case "classifier" -> classifiers.add(words[1]);
        default -> throw new IllegalArgumentException(line);
      }
    }
    try (BufferedWriter out = Files.newBufferedWriter(Path.of(args[2]))) {
      for (String classifier : classifiers) {
        for (String[] pair : pairs) {
          out.write(scores(data, classifier, pair[0], pair[1] + "," + test.get(0)));
          out.newLine();
        }
      }
    }
  }

  private static Instances read(Path path) throws Exception {
    try (BufferedReader reader = Files.newBufferedReader(path)) {
      Instances data = new Instances(reader);
      data.setClassIndex(data.numAttributes() - 1);
      return data;
    }
  }

  private static String scores(Instances data, String classifier, String train, String asked)
      throws Exception {
    ReplaceMissingValues filter = new ReplaceMissingValues();
    Instances learning = rows(data, train);
    filter.setInputFormat(learning);
    learning = Filter.useFilter(learning, filter);
    Instances scored = Filter.useFilter(rows(data, asked), filter);
    String[] words = Utils.splitOptions(classifier);
    String name = words[0];
    words[0] = "";
    Classifier model = AbstractClassifier.forName(name, words);
    model.buildClassifier(learning);
    int one = data.classAttribute().indexOfValue("1");
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < scored.numInstances(); i++) {
      if (i > 0) {
        line.append(',');
      }
      line.append(model.distributionForInstance(scored.instance(i))[one]);
    }
    return line.toString();
  }

  private static Instances rows(Instances data, String ranges) {
    Instances chosen = new Instances(data, 0);
    for (String range : ranges.split(",")) {
      String[] ends = range.split(":");
      for (int i = Integer.parseInt(ends[0]); i < Integer.parseInt(ends[1]); i++) {
        chosen.add(data.instance(i));
      }
    }
    return chosen;
  }
}
